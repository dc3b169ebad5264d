#!/usr/bin/env python3
"""Times SciPy's csr_matrix @ x beside this library's product, in one process and with the benchmark's protocol.

    python3 bench/scipy_driver.py --library build/libspry.so gen:grid7 FILE.mtx.gz --json scipy.jsonl
    python3 bench/compare.py scipy.jsonl --against scipy_csr

SciPy needs a Python process, so it is no module of `spry bench`; this driver writes the same JSON lines instead:
one record of the library's best plan and one with "kernel": "scipy_csr", "peer": true. Both multiply the same
arrays (as the library read them) with the vectors of the benchmark, are checked with spry_spmv_verify, and take
turns: five times round, untimed runs first, then batches of at least 1 ms. What Python adds to a call, a few
microseconds on either side, is in the times: take matrices of 100 000 entries or more. SciPy's product has one
thread and makes a new y every time, which is what its users get. The copy bandwidth is not measured: "roof" is null.
Needs numpy and scipy (.peers/venv/bin/python has them). Exit status 1 when a result is wrong or a case failed.
"""
import argparse
import ctypes
import json
import os
import statistics
import sys
import time

import numpy as np
import scipy
import scipy.sparse as sp

F32, F64, I32, I64 = 1, 2, 1, 2
CPU = -1
TYPES = {"f32": F32, "f64": F64}
INDICES = {"32/32": (I32, I32), "64/32": (I64, I32), "64/64": (I64, I64)}
VALUE = {F32: (np.float32, ctypes.c_float), F64: (np.float64, ctypes.c_double)}
INDEX = {I32: ctypes.c_int32, I64: ctypes.c_int64}
SKIPPED = (13, 31, 40, 50)  # statuses of spry.h that are no failure: no such kernel, too large, unsupported, no device
TURNS, BATCHES, BATCH_US, WARM_US = 5, 5, 1000.0, 10000.0
TURN_WARM_RUNS, TURN_WARM_US, MOST_TURN_WARM_US = 8, 2000.0, 60000.0
FIELDS = ("op columns layout matrix rows cols nnz class twin type index device threads format kernel ordering peer "
          "deterministic setup_us upload_us policy first_us time_us iterations mean_us min_us spread_us runs state gflops gbps "
          "copy_gbps roof bytes max_error status reason").split()


# ---- spry.h ----------------------------------------------------------------------------------------------

def struct(name, fields):
    """A struct of spry.h, or as many of its first fields as are needed; struct_size is set where it comes first."""
    kinds = {"i": ctypes.c_int, "l": ctypes.c_int64, "p": ctypes.c_void_p, "s": ctypes.c_char_p, "d": ctypes.c_double,
             "z": ctypes.c_size_t}
    pairs = (field.split(":") for field in fields.split())
    made = type(name, (ctypes.Structure,), {"_fields_": [
        (field, kinds[kind[0]] if len(kind) == 1 else ctypes.c_char * int(kind[1:])) for field, kind in pairs]})
    if made._fields_[0][0] != "struct_size":
        return made
    return lambda **values: made(struct_size=ctypes.sizeof(made), **values)


Error = struct("spry_error", "status:i message:c512 argument:c48 value:l limit:l file:c256 line:l "
               "reserved0:l reserved1:l reserved2:l reserved3:l")
ContextOptions = struct("spry_context_options", "struct_size:z allocate:p release:p user:p threads:i "
                        "threading:i")
Arrays = struct("spry_arrays", "struct_size:z layout:i rows:l cols:l nnz:l offset_type:i index_type:i value_type:i "
                "offsets:p row_indices:p indices:p values:p device:i ownership:i index_base:i sorted:i "
                "unique:i symmetry:i")
Vector = struct("spry_vector", "data:p length:l columns:l row_stride:l column_stride:l type:i device:i reserved0:l "
                "reserved1:l")  # and spry_const_vector
SpmvOptions = struct("spry_spmv_options", "struct_size:z op:i device:i vector_device:i format:s kernel:s ordering:s "
                     "groups:p vector_type:i columns:l row_major:i expected_calls:l expected_updates:l")
PlanInfo = struct("spry_spmv_plan_info", "struct_size:z op:i device:i device_name:s format:s parameters:s kernel:s "
                  "ordering:s reason_code:i reason:s deterministic:i threads:i values_in_place:i storage_bytes:l "
                  "owned_bytes:l workspace_bytes:l setup_us:d upload_us:d")
ReadOptions = struct("spry_read_options", "struct_size:z value_type:i offset_type:i index_type:i")
Verification = struct("spry_spmv_verification", "struct_size:z max_error:d worst_row:l wrong_rows:l")


class Fault(Exception):
    """A status other than SPRY_OK, with the library's sentence."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Library:
    def __init__(self, path, threads):
        self.library = ctypes.CDLL(os.path.abspath(path))
        # Vectors go by value; all else is a number that fits an int, or a pointer, which is wrapped where it is made.
        vector = Vector
        self.library.spry_spmv_plan_run.argtypes = [ctypes.c_void_p, vector, ctypes.c_void_p, vector, ctypes.c_void_p,
                                                    ctypes.c_void_p, ctypes.c_void_p]
        self.library.spry_spmv_verify.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
                                                  ctypes.c_void_p, vector, ctypes.c_void_p, vector, vector,
                                                  ctypes.c_void_p]
        self.context = ctypes.c_void_p()
        self.call("context_create", ctypes.byref(self.context), ctypes.byref(ContextOptions(threads=threads)))

    def call(self, name, *arguments):
        error = Error()
        status = getattr(self.library, "spry_" + name)(*arguments, ctypes.byref(error))
        if status != 0:
            raise Fault(status, error.message.decode(errors="replace"))

    def read(self, path, value_type, indices):
        matrix, options = ctypes.c_void_p(), ReadOptions(value_type=value_type, offset_type=indices[0],
                                                         index_type=indices[1])
        self.call("matrix_open", self.context, ctypes.byref(matrix), path.encode(), ctypes.byref(options))
        return matrix

    def arrays(self, matrix):
        arrays = Arrays()
        self.call("matrix_get_arrays", matrix, ctypes.byref(arrays))
        return arrays

    def destroy(self, matrix):
        self.library.spry_matrix_destroy(matrix)

    def verify(self, matrix, transpose, x, y):
        """The largest error as a share of the bound, and how many rows are past it."""
        verification = Verification()
        self.call("spmv_verify", self.context, ctypes.byref(verification), matrix, transpose, None, vector_of(x), None,
                  Vector(), vector_of(y))
        return verification.max_error, verification.wrong_rows


def vector_of(array):
    return Vector(data=array.ctypes.data, length=array.size, type=F32 if array.dtype == np.float32 else F64, columns=1)


def view(address, count, kind):
    """The library's array, not copied."""
    if count == 0:
        return np.empty(0, kind)
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), (count,))


def scipy_view(a):
    """A csr_matrix on the library's arrays, which must outlive it."""
    value, index = VALUE[a.value_type][1], INDEX[a.index_type]
    return sp.csr_matrix((view(a.values, a.nnz, value), view(a.indices, a.nnz, index),
                          view(a.offsets, a.rows + 1, index)), shape=(a.rows, a.cols), copy=False)


# ---- cases -----------------------------------------------------------------------------------------------

def random_vector(length, dtype, seed):
    """The vectors of spry bench (bench_fill_random), so that both multiply the same numbers."""
    with np.errstate(over="ignore"):
        z = np.arange(length, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    size = 0.25 + 0.75 * (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.where(z & np.uint64(1), -size, size).astype(dtype)


class Case:
    """A product with its record; run() returns y."""

    def __init__(self, common, run, **fields):
        self.record = {**dict.fromkeys(FIELDS), **common, **fields}
        self.run, self.samples, self.batch_runs = run, [], 1

    def live(self):
        return self.record["status"] == "ok"

    def time_runs(self, runs):
        start = time.perf_counter()
        for _ in range(runs):
            self.run()
        return 1e6 * (time.perf_counter() - start)


def case_of_library(library, common, matrix, transpose, x, y):
    plan, options = ctypes.c_void_p(), SpmvOptions(op=transpose, device=CPU, expected_calls=1000)
    fields = {"format": "auto", "device": "cpu", "peer": False, "status": "ok"}
    try:
        library.call("spmv_plan_create", library.context, ctypes.byref(plan), matrix, ctypes.byref(options))
    except Fault as fault:
        fields.update(status="skipped" if fault.status in SKIPPED else "failed", reason=str(fault))
        return Case(common, None, **fields), None
    info = PlanInfo()
    library.call("spmv_plan_get_info", plan, ctypes.byref(info))
    fields.update(kernel=info.kernel.decode(), ordering=info.ordering.decode(), reason=info.reason.decode(),
                  threads=info.threads, deterministic=bool(info.deterministic), setup_us=info.setup_us,
                  upload_us=info.upload_us, bytes=info.storage_bytes)
    run_plan, error, xs, ys = library.library.spry_spmv_plan_run, Error(), vector_of(x), vector_of(y)
    error_pointer = ctypes.byref(error)

    def run():
        if run_plan(plan, ys, None, xs, None, None, error_pointer) != 0:
            raise Fault(error.status, error.message.decode(errors="replace"))
        return y

    return Case(common, run, **fields), plan


def case_of_scipy(common, a, transpose, x):
    fields = {"format": "csr", "kernel": "scipy_csr", "device": "cpu", "threads": 1, "ordering": "none", "peer": True,
              "status": "ok", "reason": f"SciPy csr_matrix @ x, version {scipy.__version__}", "upload_us": 0}
    if a.offset_type != a.index_type:
        fields.update(status="skipped", reason="SciPy has one index type: 64-bit offsets with 32-bit columns do not "
                                               "fit it")
        return Case(common, None, **fields)
    start = time.perf_counter()
    A = scipy_view(a)
    if transpose:
        A = A.T  # csc_matrix on the same arrays
    fields.update(setup_us=1e6 * (time.perf_counter() - start),
                  bytes=A.data.nbytes + A.indices.nbytes + A.indptr.nbytes)
    return Case(common, lambda: A @ x, **fields)


def check(library, case, matrix, transpose, x):
    try:
        start = time.perf_counter()
        y = case.run()
        case.record["first_us"] = 1e6 * (time.perf_counter() - start)
        case.record["max_error"], wrong = library.verify(matrix, transpose, x, y)
    except Fault as fault:
        case.record.update(status="failed", reason=str(fault))
        return
    if wrong:
        case.record.update(status="wrong", reason=f"alpha 1, beta 0: {wrong} rows past the error bound")


# ---- timing ----------------------------------------------------------------------------------------------

def processor_time():
    """Seconds of all processors: busy with anything, busy with this process, there in all."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    own = os.times()
    scale = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - ticks[3] - ticks[4]) / scale, own.user + own.system, sum(ticks) / scale


def measure(cases):
    before = processor_time()
    for case in cases:
        fastest, spent, runs = float("inf"), 0.0, 0
        while runs < 2 or spent < WARM_US:
            us = case.time_runs(1)
            fastest, spent, runs = min(fastest, us), spent + us, runs + 1
        case.batch_runs = int(1.1 * BATCH_US / fastest) + 1
    for _ in range(TURNS):
        for case in cases:
            spent, runs = 0.0, 0
            while spent < TURN_WARM_US or (runs < TURN_WARM_RUNS and spent < MOST_TURN_WARM_US):
                spent, runs = spent + case.time_runs(1), runs + 1
            batches = 0
            while batches < BATCHES:
                us = case.time_runs(case.batch_runs)
                if us < BATCH_US:  # too short after all: longer, and again
                    case.batch_runs += case.batch_runs // 2 + 1
                    continue
                case.samples.append(us / case.batch_runs)
                case.record["runs"] = (case.record["runs"] or 0) + case.batch_runs
                batches += 1
    busy, own, there = (after - at for after, at in zip(processor_time(), before))
    others = max(0.0, busy - own) / there if there > 0.1 else 0.0
    for case in cases:
        fill_record(case, others)


def fill_record(case, others):
    r, samples = case.record, case.samples
    quartiles = statistics.quantiles(samples, n=4, method="inclusive")
    r.update(time_us=quartiles[1], mean_us=statistics.fmean(samples), min_us=min(samples),
             spread_us=quartiles[2] - quartiles[0])
    value, (offset, index) = int(r["type"][1:]) // 8, (int(bits) // 8 for bits in r["index"].split("/"))
    csr_bytes = r["nnz"] * (value + index) + (r["rows"] + 1) * offset + (r["rows"] + r["cols"]) * value
    r.update(gflops=2e-3 * r["nnz"] / r["time_us"], gbps=1e-3 * csr_bytes / r["time_us"])
    if others >= 0.05:
        r["reason"] += f"; disturbed: other programs had {100 * others:.0f} % of the processors meanwhile"


# ---- matrices --------------------------------------------------------------------------------------------

def name_of(path):
    """As spry bench names it."""
    if path.startswith("gen:"):
        return path[4:]
    return os.path.basename(path).removesuffix(".gz").removesuffix(".mtx")


def run_matrix(library, path, type_name, index_name, op):
    value_type, transpose = TYPES[type_name], int(op == "spmv_t")
    matrix = library.read(path, value_type, INDICES[index_name])
    a = library.arrays(matrix)
    lengths = np.diff(view(a.offsets, a.rows + 1, INDEX[a.offset_type]))
    common = {"op": op, "matrix": name_of(path), "rows": a.rows, "cols": a.cols, "nnz": a.nnz, "twin": False,
              "class": "regular" if lengths.size == 0 or lengths.var() <= 10 else "irregular", "type": type_name,
              "index": index_name, "state": "warm"}
    x = random_vector(a.rows if transpose else a.cols, VALUE[value_type][0], 1)
    y = np.full(a.cols if transpose else a.rows, np.nan, VALUE[value_type][0])
    ours, plan = case_of_library(library, common, matrix, transpose, x, y)
    cases = [ours, case_of_scipy(common, a, transpose, x)]
    for case in cases:
        if case.live():
            check(library, case, matrix, transpose, x)
    measure([case for case in cases if case.live()])
    if plan:
        library.library.spry_spmv_plan_destroy(plan)
    records = [case.record for case in cases]
    del cases, ours  # SciPy's matrix looks into the arrays that go now
    library.destroy(matrix)
    return records


def short(value):
    """Seven digits, as spry bench writes; JSON has no infinity."""
    if not isinstance(value, float):
        return value
    return float(f"{max(-sys.float_info.max, min(value, sys.float_info.max)):.7g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="Matrix Market, .gz too, or gen:NAME")
    parser.add_argument("--library", required=True, help="build/libspry.so")
    parser.add_argument("--op", choices=("spmv", "spmv_t"), default="spmv")
    parser.add_argument("--type", choices=("f32", "f64", "all"), default="f64")
    parser.add_argument("--index", choices=tuple(INDICES), default="32/32")
    parser.add_argument("--threads", type=int, default=0, help="of the library; SciPy has one (default: all)")
    parser.add_argument("--json", metavar="FILE", help="JSON lines, added to FILE (default: standard output)")
    arguments = parser.parse_args()
    out = open(arguments.json, "a", encoding="utf-8") if arguments.json else sys.stdout
    bad = 0
    try:
        library = Library(arguments.library, arguments.threads)
        for path in arguments.files:
            for type_name in ("f64", "f32") if arguments.type == "all" else (arguments.type,):
                for record in run_matrix(library, path, type_name, arguments.index, arguments.op):
                    bad += record["status"] in ("wrong", "failed")
                    print(json.dumps({field: short(record[field]) for field in FIELDS}), file=out, flush=True)
    except (Fault, OSError) as fault:
        print(f"scipy_driver.py: {fault}", file=sys.stderr)
        return 2
    finally:
        if arguments.json:
            out.close()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
