#!/usr/bin/env bash
# run_python.sh MODULE TEST.py: runs it by a Python that has the module. Ends with 77, which is skipped, where there is
# none.
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
