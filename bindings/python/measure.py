"""Compares the package's speed with SciPy's: python measure.py [--side 1000] [--threads 1] [--mesh FOLDER]

Prints times of calls of a 5 x 5 plan in ns. Then prints times of products of SciPy and Spry in ms, for a grid with
side x side rows: medians of seven rounds of at least 0.2 s, in which all products run in turn. With --mesh, measures
the matrices of the list *mesh* in three rounds instead and prints geometric means. FOLDER has G3_circuit.mtx.gz. For
A @ A, smaller versions replace some matrices. Run it on an idle machine, with `taskset -c 0` for one thread.
"""

import argparse
import pathlib
import statistics
import time
import timeit

import numpy as np
import scipy
import scipy.sparse

import spry

SMALLER = {"grid27": "grid27s", "fem3": "fem3s", "rgg21": "rgg20"}
MESH = ("grid5", "grid7", "grid27", "fem3", "road", "rgg21", "G3_circuit")


def of_calls():
    A = scipy.sparse.csr_array(np.triu(np.ones((5, 5))))
    plan, x, out = spry.plan(A), np.ones(5), np.zeros(5)
    names = {"plan @ x": plan, "plan.run(x, out)": plan, "A @ x": A}
    for text in names:
        timer = timeit.Timer(text, globals={"plan": plan, "A": A, "x": x, "out": out})
        calls = 100_000
        print(f"5 x 5  {text:<18}{min(timer.repeat(7, calls)) / calls * 1e9:10.0f} ns")


def seconds(call):
    start, calls = time.perf_counter(), 0
    while time.perf_counter() - start < 0.2 or calls < 2:
        call()
        calls += 1
    return (time.perf_counter() - start) / calls


def in_turn(calls, count, measure):
    """Measures the calls of a dict in turn, in `count` rounds. Returns the median of each call, by name."""
    for call in calls.values():
        call()
    rounds = [{name: measure(call) for name, call in calls.items()} for _ in range(count)]
    return {name: statistics.median(times[name] for times in rounds) for name in calls}


def beside(title, theirs, ours, count=7):
    """Compares SciPy's call `theirs` with a dict of calls. Prints times and returns the speedups over SciPy."""
    times = in_turn({"SciPy": theirs, **ours}, count, seconds)
    for name, median in times.items():
        print(f"{title:<8}{name:<24}{median * 1e3:9.3f} ms{times['SciPy'] / median:8.2f} x", flush=True)
    return [times["SciPy"] / median for median in times.values()]  # in the order of the calls


def patched(call):
    def run():
        with spry.patch_scipy():
            return call()

    return run


def of_vectors(A, count=7):
    """Returns the speedups over SciPy of plan @ x, plan.run and plan @ X."""
    rng = np.random.default_rng(1)
    x, X = rng.standard_normal(A.shape[1]), rng.standard_normal((A.shape[1], 8))
    plan, csr, wide = spry.plan(A), spry.plan(A, format="csr"), spry.plan(A, count=8)
    y, Y = np.empty(A.shape[0]), np.empty((A.shape[0], 8))
    one = beside("A @ x", lambda: A @ x, {
        f"plan @ x, {plan.info.format}": lambda: plan @ x,
        f"plan.run, {plan.info.format}": lambda: plan.run(x, y),
        "csr alone": lambda: csr @ x,
        "patched": patched(lambda: A @ x),
    }, count)
    plan @ X
    eight = beside("A @ X", lambda: A @ X, {
        f"plan @ X, {plan.info.blocks.format}": lambda: plan @ X,
        f"count=8, {wide.info.format}": lambda: wide @ X,
        "run": lambda: wide.run(X, Y),
        "patched": patched(lambda: A @ X),
    }, count)
    return {"plan @ x": one[1], "plan.run": one[2], "count=8": eight[2], "patched A @ x": one[4]}


def of_square(A, count=7):
    """Returns the speedups over SciPy of spgemm and its plan."""
    product = spry.spgemm_plan(A, A)
    square = beside("A @ A", lambda: A @ A, {
        "spgemm": lambda: spry.spgemm(A, A),
        "spgemm, check=False": lambda: spry.spgemm(A, A, check=False),
        "spgemm_plan.run": product.run,
        "patched": patched(lambda: A @ A),
    }, count)
    return {"spgemm": square[1], "spgemm_plan.run": square[3]}


def matrix_of(name, folder):
    """Generates a matrix of the list *mesh*, or reads it from FOLDER."""
    if name in MESH and name != "G3_circuit":
        return spry.generate(name)
    return spry.mmread(pathlib.Path(folder, f"{name}.mtx.gz"))


def of_mesh(folder):
    found = {}
    for name in MESH:
        A = matrix_of(name, folder)
        print(f"{name}: {A.shape[0]} rows, {A.nnz} entries")
        ratios = of_vectors(A, 3)
        if name in SMALLER:
            A = spry.generate(SMALLER[name])
        ratios |= of_square(A, 3)
        for what, ratio in ratios.items():
            found.setdefault(what, []).append(ratio)
    for what, ratios in found.items():
        print(f"geometric mean over SciPy, {what}: {statistics.geometric_mean(ratios):.2f} "
              f"({min(ratios):.2f} to {max(ratios):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--mesh", metavar="FOLDER")
    given = parser.parse_args()
    spry.set_num_threads(given.threads)
    print(f"spry {spry.__version__}, threads: {spry.get_num_threads()}")
    print(f"SciPy {scipy.__version__}, NumPy {np.__version__}")
    of_calls()

    if given.mesh:
        of_mesh(given.mesh)
    else:
        A = spry.generate("grid5", x=given.side, y=given.side)
        of_vectors(A)
        of_square(A)


if __name__ == "__main__":
    main()
