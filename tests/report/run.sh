#!/usr/bin/env bash
# run.sh TEST.py: runs it by a Python that has Matplotlib. Ends with 77, which is skipped, where there is none.
set -u
test=$1
for python in "${SPRY_PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] || continue
    if "$python" -c 'import sys, matplotlib; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
        exec "$python" -B "$test"
    fi
done
echo "no Python 3.9 with Matplotlib: not tested (apt-get install python3-matplotlib)"
exit 77
