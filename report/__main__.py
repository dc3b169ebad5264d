"""Entry point of `python3 report ...`, which the command `spry report` runs; see spry_report/main.py."""
import sys

from spry_report.main import main

try:
    sys.exit(main())
except KeyboardInterrupt:  # spry prints the message
    sys.exit(130)
