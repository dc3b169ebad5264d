#!/usr/bin/env bash
# run_python.sh MODULE TEST.py: runs TEST.py by a Python that has MODULE. Ends with status 77 (skipped) if no Python has
# it.
set -u
module=$1 test=$2
for python in "${SPRY_PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] || continue
    if "$python" -c "import sys, $module; sys.exit(sys.version_info < (3, 9))" 2>/dev/null; then
        exec "$python" -B "$test"
    fi
done
echo "no Python 3.9 with $module: not tested (apt-get install python3-$module)"
exit 77
