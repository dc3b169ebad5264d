"""Compares the package's speed with CuPy's on a GPU: python measure_gpu.py [--matrices FOLDER] [NAME ...]

NAME: a generator of spry.generate or a file in FOLDER; none: the list *mesh*. For each matrix in f32 and f64, measures
a batch of products with one synchronization at its end, and a single product without a kept plan. All calls run in
turn. Prints the median of nine rounds in microseconds and CuPy's median divided by Spry's.
"""

import argparse
import statistics
import time

import cupy
import cupyx.scipy.sparse
import numpy as np
from measure import MESH, in_turn, matrix_of

import spry


def batch(call, calls=50):
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    cupy.cuda.Device().synchronize()
    return (time.perf_counter() - start) / calls


def beside(title, calls, measure):
    """Measures a dict of calls, CuPy's first. Prints times and returns the speedups over CuPy."""
    times = in_turn(calls, 9, measure)
    ratios = {name: times["CuPy"] / median for name, median in times.items()}
    for name, ratio in ratios.items():
        print(f"{title:<18}{name:<34}{times[name] * 1e6:10.1f} us{ratio:8.2f}", flush=True)
    return ratios


def of_matrix(name, A, dtype):
    ours = cupyx.scipy.sparse.csr_matrix(A.astype(dtype))
    x = cupy.asarray(np.random.default_rng(1).standard_normal(A.shape[1]).astype(dtype))
    X = cupy.asarray(np.random.default_rng(1).standard_normal((A.shape[1], 8)).astype(dtype))
    y = cupy.empty(A.shape[0], dtype)
    plan, csr = spry.plan(ours), spry.plan(ours, format="csr")
    title = f"{name} {np.dtype(dtype).name}"
    ratios = beside(title, {
        "CuPy": lambda: ours @ x,
        "plan @ x": lambda: plan @ x,
        "plan.run(x, y)": lambda: plan.run(x, y),
        "csr @ x": lambda: csr @ x,
    }, batch)
    print(f"{title:<18}{plan.info.format}, {plan.info.kernel}")
    plan @ X
    blocks = beside(title + " k=8", {"CuPy": lambda: ours @ X, "plan @ X": lambda: plan @ X}, batch)
    once = beside(title + " once", {
        "CuPy": lambda: ours @ x,
        "plan(expected_calls=1)": lambda: spry.plan(ours, expected_calls=1) @ x,
        "plan(expected_calls=1, check=False)": lambda: spry.plan(ours, expected_calls=1, check=False) @ x,
    }, lambda call: batch(call, 1))
    return {"kept": ratios["plan @ x"], "k=8": blocks["plan @ X"], "once": once["plan(expected_calls=1)"],
            "unchecked": once["plan(expected_calls=1, check=False)"]}


def of_calls():
    """Measures the overhead of a call: a small matrix, many calls."""
    A = cupyx.scipy.sparse.csr_matrix(spry.generate("laplace5", x=10, y=10))
    x, y = cupy.ones(100), cupy.empty(100)
    plan = spry.plan(A)
    beside("100 rows", {"CuPy": lambda: A @ x, "plan @ x": lambda: plan @ x, "plan.run": lambda: plan.run(x, y)},
           lambda call: batch(call, 500))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=MESH)
    parser.add_argument("--matrices", default=".")
    given = parser.parse_args()
    device = next(d for d in spry.devices() if d["kind"] == "cuda")
    print(f"spry {spry.__version__}, CuPy {cupy.__version__}, {device['description']}")
    of_calls()
    found = {}
    for name in given.names:
        A = matrix_of(name, given.matrices)
        for dtype in ("f4", "f8"):
            for what, ratio in of_matrix(name, A, dtype).items():
                found.setdefault((what, dtype), []).append(ratio)
    for (what, dtype), ratios in found.items():
        print(f"geometric mean over CuPy, {what}, {dtype}: {statistics.geometric_mean(ratios):.2f} "
              f"({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
