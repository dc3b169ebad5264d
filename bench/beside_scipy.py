#!/usr/bin/env python3
"""Times reading files and ordering matrices next to SciPy. For products: bindings/python/measure.py.

    python3 bench/beside_scipy.py read [FILE.mtx...]        spry.mmread, fast_matrix_market and SciPy (mmread and tocsr)
    python3 bench/beside_scipy.py reorder FILE.mtx...       spry.reorder and SciPy's reverse_cuthill_mckee

Without FILEs, `read` writes four files into --folder and keeps them. Three files have the matrix of a 7-point grid with
values of 17 digits: with entries by rows, by columns, and as a symmetric matrix. The fourth file has a pattern with
random columns. Methods run in turn, and the results of readers are compared before they are timed. Figures are medians;
spread is the distance of the quartiles. SciPy's ordering has one thread and trusts symmetric_mode=True, which is set
for symmetric patterns. Needs NumPy, SciPy, fast_matrix_market (only `read`) and the package spry, for which PYTHONPATH
may name build/python.
"""
import argparse
import os
import statistics
import sys
import time

import numpy as np
import scipy.io
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

import spry


def in_turn(calls, rounds):
    """Returns three dicts by name: the last results, and the medians and quartile distances of the times in
    milliseconds."""
    times = {name: [] for name in calls}
    results = {}
    for _ in range(rounds):
        for name, call in calls.items():
            results.pop(name, None)
            start = time.perf_counter()
            results[name] = call()
            times[name].append(1e3 * (time.perf_counter() - start))
    quartiles = {name: statistics.quantiles(values, n=4, method="inclusive") for name, values in times.items()}
    return results, {name: q[1] for name, q in quartiles.items()}, {name: q[2] - q[0] for name, q in quartiles.items()}


# ---- read -------------------------------------------------------------------------------------------

def make_files(folder, entries):
    os.makedirs(folder, exist_ok=True)
    names = ("grid7_rows", "grid7_columns", "grid7_symmetric", "random_pattern")
    paths = [os.path.join(folder, f"{name}_{entries}.mtx") for name in names]
    if all(os.path.exists(path) for path in paths):
        return paths
    rng = np.random.default_rng(1)
    side = max(2, round((entries / 7) ** (1 / 3)))
    A = spry.generate("laplace7", x=side, y=side, z=side)
    A.data = rng.random(A.nnz) - 0.5
    spry.mmwrite(paths[0], A)
    spry.mmwrite(paths[1], A.tocsc())
    spry.mmwrite(paths[2], (sp.tril(A) + sp.tril(A, -1).T).tocsc(), symmetry="symmetric")
    columns = np.sort(rng.integers(0, entries // 10, (entries // 10, 10)), axis=1)
    pattern = sp.csr_array((np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 10)))
    pattern.sum_duplicates()
    scipy.io.mmwrite(paths[3], pattern, field="pattern")
    return paths


def read(arguments):
    import fast_matrix_market as fmm
    print(f"{'file':34} {'MB':>6} {'threads':>7} {'spry ms':>9} {'spread':>7} {'fmm ms':>9} {'SciPy ms':>9} "
          f"{'ratio':>6}")
    for path in arguments.files or make_files(arguments.folder, arguments.entries):
        for threads in arguments.threads:
            spry.set_num_threads(threads)
            scipy.io._fast_matrix_market.PARALLELISM = threads
            calls = {"spry": lambda: spry.mmread(path),
                     "fmm": lambda: fmm.mmread(path, parallelism=threads).tocsr(),
                     "SciPy": lambda: scipy.io.mmread(path).tocsr()}
            results = in_turn(calls, 2)[0]
            for name, A in results.items():
                A.sum_duplicates()
                if A.shape != results["spry"].shape or (A != results["spry"]).nnz:
                    sys.exit(f"{path}: {name} reads another matrix than spry")
            results.clear()
            _, median, spread = in_turn(calls, arguments.rounds)
            print(f"{os.path.basename(path):34} {os.path.getsize(path) / 1e6:6.0f} {threads:7} {median['spry']:9.1f} "
                  f"{spread['spry']:7.1f} {median['fmm']:9.1f} {median['SciPy']:9.1f} "
                  f"{min(median['fmm'], median['SciPy']) / median['spry']:6.2f}", flush=True)


# ---- reorder ----------------------------------------------------------------------------------------

def bandwidth(A, order):
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    rows = np.repeat(place, np.diff(A.indptr))
    return int(np.abs(rows - place[A.indices]).max(initial=0))


def reorder(arguments):
    spry.set_num_threads(arguments.threads[0])
    print(f"{'matrix':28} {'ordering':9} {'ms':>9} {'spread':>8} {'SciPy/it':>9} {'it/rcm':>7} {'bandwidth':>10}")
    for path in arguments.files:
        A = spry.mmread(path)
        pattern = sp.csr_matrix((np.ones(A.nnz, np.int8), A.indices, A.indptr), shape=A.shape)
        symmetric = (pattern != pattern.T).nnz == 0
        calls = {"SciPy": lambda: reverse_cuthill_mckee(pattern, symmetric_mode=symmetric),
                 "rcm": lambda: spry.reorder(A, "rcm"), "bandk": lambda: spry.reorder(A, "bandk"),
                 "degree": lambda: spry.reorder(A, "degree")}
        orders, median, spread = in_turn(calls, arguments.rounds)
        for name, order in orders.items():
            print(f"{os.path.basename(path):28} {name:9} {median[name]:9.2f} {spread[name]:8.2f} "
                  f"{median['SciPy'] / median[name]:9.2f} {median[name] / median['rcm']:7.2f} "
                  f"{bandwidth(A, order):10}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("read", "reorder"))
    parser.add_argument("files", nargs="*", metavar="FILE.mtx", help="Matrix Market, to reorder also .gz; square")
    parser.add_argument("--threads", type=lambda text: [int(number) for number in text.split(",")], default=[1, 2],
                        metavar="N[,N...]", help="Spry's and fast_matrix_market's; reorder: the first (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--entries", type=int, default=10_000_000, help="of the files that read writes")
    parser.add_argument("--folder", default="build/read")
    arguments = parser.parse_intermixed_args()
    read(arguments) if arguments.what == "read" else reorder(arguments)


if __name__ == "__main__":
    main()
