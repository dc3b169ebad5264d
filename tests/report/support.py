"""Records for the tests of reports, and the path of the tested package."""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REPORT = os.path.join(ROOT, "report")
sys.path.insert(0, REPORT)

SKIPPED = 77

DEFAULTS = {
    "op": "spmv", "count": None, "layout": None, "matrix": "m", "rows": 1000, "columns": 1000, "nnz": 5000,
    "class": "regular", "twin": False, "type": "f64", "index": "32/32", "device": "cpu", "threads": 2, "format": "csr",
    "kernel": "csr_avx2_cpu", "ordering": "none", "peer": False, "deterministic": True, "setup_us": 100, "upload_us": 0,
    "policy": None, "disturbed": False, "time_us": 100.0, "spread_us": 1.0, "runs": 20, "state": "warm", "gflops": 0.1,
    "gbps": 0.8, "copy_gbps": 10.0, "bytes": 68000, "max_error": 0.2, "status": "ok", "reason": "it was asked for",
}


def record(**fields):
    """Returns a record. The argument class_ sets the field "class"."""
    if "class_" in fields:
        fields["class"] = fields.pop("class_")
    return {**DEFAULTS, **fields}


def case(**fields):
    from spry_report.records import make_case
    return make_case(record(**fields), "here:1")


def lines(records):
    return "".join(json.dumps(line) + "\n" for line in records)


def small_run():
    """Returns records of three matrices with csr, sell, ell, auto and a peer. ell is skipped, and one record of sell is
    disturbed. One more kernel has a wrong result."""
    found = []
    for number, (matrix, class_) in enumerate((("one", "regular"), ("two", "regular"), ("three", "irregular"))):
        size = {"matrix": matrix, "class_": class_, "nnz": 5000 * (number + 1)}
        found.append(record(**size, time_us=100.0, gbps=8.0, gflops=1.0 + 0.1 * number))
        found.append(record(**size, kernel="sell_avx2_cpu", format="sell", time_us=50.0 * 2 ** number, setup_us=1100,
                            gbps=16.0, gflops=2.0 + 0.3 * number, disturbed=number == 0))
        found.append(record(**size, kernel="auto_took", format="auto", policy="cost", time_us=110.0))
        found.append(record(**size, kernel="lib_csr", peer=True, time_us=200.0, gbps=4.0, gflops=0.5 + 0.1 * number))
        found.append(record(**size, kernel="ell_avx2_cpu", format="ell", time_us=None, spread_us=None, gbps=None,
                            gflops=None, setup_us=None, status="skipped",
                            reason=f"format ell would take {1000 + number} bytes"))
    found.append(record(matrix="three", class_="irregular", nnz=15000, kernel="bad_cpu", time_us=None,
                        status="wrong", reason="row 7 is off by 3 bounds"))
    return found
