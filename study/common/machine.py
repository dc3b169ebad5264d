"""Description of a measurement's environment: machine, GPU, library, date."""
import datetime
import functools
import hashlib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def program():
    """Returns the path of the program: the variable SPRY, else build/spry."""
    return os.environ.get("SPRY") or os.path.join(ROOT, "build", "spry")


def mock_plugin():
    """Returns the path of the plug-in that replaces a GPU in quick runs. Exits if it was not built."""
    path = os.path.join(os.path.dirname(program()), "tests", "libspry-mock-cuda.so")
    if not os.path.isfile(path):
        sys.exit(f"study/run: {path}, which replaces a GPU in quick runs, is missing: run ./quickstart, or use "
                 "--device cpu")
    return path


def _first_line(command):
    try:
        result = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip().splitlines()[0] if result.returncode == 0 and result.stdout.strip() else ""


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown processor"


def _identity():
    """Returns an anonymous identifier of the machine: a hash of its name and the current boot's id."""
    text = os.uname().nodename
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            text += file.read()
    except OSError:
        pass
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def clocks():
    """Returns the GPU's clocks in MHz: multiprocessors, memory, and their maxima; "" without a GPU."""
    return _first_line(["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem",
                        "--format=csv,noheader,nounits"])


@functools.lru_cache(maxsize=None)
def describe():
    """Returns the description of the machine, which every record contains."""
    gpu = _first_line(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    return {
        "id": _identity(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "gpu": gpu,
        "library": _first_line([program(), "--version"]),
    }


def today():
    return datetime.date.today().isoformat()
