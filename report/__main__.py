"""Run as `python3 report ...` by the command `spry report`; see spry_report/main.py."""
import sys

from spry_report.main import main

try:
    sys.exit(main())
except KeyboardInterrupt:  # spry says what is to be said
    sys.exit(130)
