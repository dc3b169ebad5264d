#!/usr/bin/env bash
# run_scale.sh: runs test_scale.py by a Python that has numpy. Ends with 77, which is skipped, where there is none.
set -u
for python in "${SPRY_PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] || continue
    if "$python" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
        exec "$python" -B "$(dirname "$0")/test_scale.py"
    fi
done
echo "no Python 3.9 with numpy: not tested (apt-get install python3-numpy)"
exit 77
