"""Seed 004: Sparse Methods, lecture 10 of GP-GPU and High Performances Computing."""
import json
import os
import subprocess
import sys

from common import machine
from common.jobs import Job, repeat
from seed004 import leaves, report as told

TITLE = "Seed 004: Sparse Methods (lecture 10 of GP-GPU and High Performances Computing)"
ABOUT = ("The lecture shows layouts of sparse matrices and their kernels on one example, a table of storage and a "
         "decision tree for the format. It prefers conjugate gradients to elimination. It prints no times.")
WORDS = {
    "tree": "the lecture's decision tree by row lengths, with this library's thresholds.",
    "leaf, leaves": "a format that the tree may choose: ELL, HYB, COO or CSR.",
    "words": "the lecture's unit of storage: a value or an index is one word.",
    "predicted": "by the library, from the matrix, before a format is built.",
    "atomics": "atomic additions by more than one thread to an element of y, in an order that differs between runs.",
    "segmented": "with a segmented sum, which adds the entries of each row in a piece of the matrix without atomics.",
    "example": "the lecture's matrix with five rows.",
    "factors": "the triangular factors of A that elimination computes.",
    "fill-in": "entries of the factors at positions where A has none.",
    "CG": "conjugate gradients, which use A only in products.",
}
KNOWN = ("rows", "columns", "nnz", "mean_row", "max_row", "empty_rows", "storage")
GRIDS = {2: (32, 64, 128, 256, 512), 3: (8, 12, 16, 24, 32)}
QUICK_GRIDS = {2: (8, 16, 32), 3: (4, 6, 8)}

report = told.report


def devices(run):
    """Returns the kinds of devices that the run can use."""
    gpu = run.mock or machine.describe()["gpu"]
    return [d for d, there in (("cpu", True), ("cuda", gpu)) if there and run.options.device in (d, "all")]


def runs(run):
    return ("--runs", "3" if run.options.quick else "30")


def bench(run, kind, name, *arguments):
    """Yields the records of one `spry bench`. Their field "asked" is the option that named the case, "format" or
    "kernel", else ""."""
    for record in run.lines("bench", *arguments, *runs(run)):
        asked = next((word for word in ("format", "kernel") if (record["reason"] or "").startswith(word + " ")), "")
        yield {"kind": kind, **record, "matrix": name, "asked": asked}


def example(device):
    """Creates a job that runs the lecture's matrix with all kernels of its layouts. On the CPU it also computes y for x
    = ones."""
    def measure(run):
        if device not in devices(run):
            return
        kernels = [k["name"] for k in run.lines("kernels", "--device", device)
                   if k["format"] in ("csr", "csc", "ell", "coo", "hyb") and "spmv" in k["operations"].split()]
        yield from bench(run, "example", "lecture.mtx", leaves.LECTURE, "--device", device, "--type", "f32",
                         "--kernels", ",".join(kernels))
        for form in ("csr", "csc", "ell", "coo", "hyb") if device == "cpu" else ():
            text, status = run.call("spmv", leaves.LECTURE, "--format", form, "--x", "ones", "--out", "-")
            numbers = [line for line in text.splitlines() if not line.startswith("%")][1:]
            yield {"kind": "y", "format": form, "status": "ok" if status == 0 else "failed",
                   "y": [float(number) for number in numbers]}
    return Job(f"the lecture's example, {device}", measure)


def leaf(name, source, device):
    """Creates a job that times the formats of all leaves of the decision tree, the tree's choice, the lecture's kernels
    and cuSPARSE in one run."""
    def measure(run):
        if device not in devices(run):
            return
        info = run.lines("info", source, "--type", "f32")[0]
        yield {"kind": "matrix", "matrix": name, "source": source, **{field: info[field] for field in KNOWN}}
        kernels = ("--kernels", ",".join(leaves.OVERWRITING + leaves.LIBRARY)) if device == "cuda" else ()
        peers = () if run.options.quick and device == "cpu" else ("--peers",)
        yield from bench(run, "leaf", name, source, "--device", device, "--type", "all", "--formats",
                         ",".join(leaves.LEAVES + ("auto",)), "--policy", "tree", *peers, *kernels)
        if device == "cuda":
            yield from bench(run, "leaf", name, source, "--device", device, "--type", "all", "--op", "spmv_add",
                             "--kernels", ",".join(leaves.ADDING))
        yield from bench(run, "auto", name, source, "--device", device, "--type", "all", "--formats", "csr,auto")
    return Job(f"leaves: {name}, {device}", measure)


def transposed(name, source, device):
    """Creates a job that compares CSC with CSR in transposed products."""
    def measure(run):
        kernels = ("--kernels", "csr_scatter_cuda") if device == "cuda" else ()
        if device in devices(run):
            yield from bench(run, "transposed", name, source, "--op", "spmv_t", "--device", device, "--type", "f64",
                             "--formats", "csc" if device == "cuda" else "csr,csc", *kernels)
    return Job(f"columns: {name}, {device}", measure)


def balance():
    """Creates a job that compares rows of equal and of unequal length, with the same number of entries in random
    columns."""
    def measure(run):
        for name, source in leaves.balance(run.options.quick).items() if "cuda" in devices(run) else ():
            yield from bench(run, "balance", name, source, "--device", "cuda", "--type", "f32", "--kernels",
                             "coo_segmented_cuda,csr_scalar_cuda")
            yield from bench(run, "balance", name, source, "--device", "cuda", "--type", "f32", "--op", "spmv_add",
                             "--kernels", "coo_atomic_cuda")
    return Job("COO: row lengths", measure)


def python_with_scipy():
    """Returns a Python that has SciPy; None if there is none."""
    for python in (sys.executable, os.environ.get("SPRY_PYTHON"), os.path.join(machine.ROOT, ".peers/venv/bin/python")):
        try:
            if python and subprocess.run([python, "-c", "import scipy.sparse.linalg"], capture_output=True,
                                         check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


def eliminate(dimensions):
    """Creates a job that compares elimination with conjugate gradients, on the CPU, with a Python that has SciPy."""
    def measure(run):
        python = python_with_scipy()
        if not python:
            yield {"kind": "fill-in", "dimensions": dimensions, "status": "skipped",
                   "reason": "no Python with SciPy (./quickstart --peers)"}
            return
        sides = (QUICK_GRIDS if run.options.quick else GRIDS)[dimensions]
        text = ",".join(map(str, sides))
        command = [python, os.path.join(leaves.HERE, "fill_in.py"), "--program", machine.program(),
                   "--squares", text if dimensions == 2 else "", "--cubes", text if dimensions == 3 else ""]
        run.command = f"study/seed004/fill_in.py {' '.join(command[4:])}"
        lines = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.splitlines()
        for line in lines:
            yield {"kind": "fill-in", **json.loads(line)}
    return Job(f"fill-in, {dimensions} dimensions", measure)


def jobs(options):
    """Returns the jobs. Cases that are compared are in one job. CPU and GPU jobs may run on different machines."""
    sources = leaves.sources(options.quick, options.matrices)
    names, found = list(sources), []
    for device in ("cpu", "cuda") if options.device == "all" else (options.device,):
        found += [example(device), *(leaf(name, sources[name], device) for name in names),
                  *(transposed(name, sources[name], device) for name in (names[0], "R-MAT, 16 a row")),
                  *([balance(), *(repeat(leaf(name, sources[name], device)) for name in names[::4])]
                    if device == "cuda" else [eliminate(2), eliminate(3)])]
    return found
