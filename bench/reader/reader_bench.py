#!/usr/bin/env python3
"""Times reading Matrix Market files to sorted CSR: this library beside fast_matrix_market and SciPy.

    python3 bench/reader/reader_bench.py --library build/libspry.so
    python3 bench/reader/reader_bench.py --library build/libspry.so --threads 1 --repeats 7 FILE.mtx ...

Without FILEs it writes its own into --folder (kept, and used again): a 7-point grid with about --entries
entries and random f64 values of 17 digits, by rows; the same by columns, as the SuiteSparse collection orders
files; its lower triangle as a symmetric file; and a pattern of random columns. Readers take turns; a figure
is the median over the repeats. A peer's time is mmread plus tocsr, ours one spry_matrix_read. Every result is
compared with the others' first. Needs numpy, scipy and fast_matrix_market.
"""
import argparse
import ctypes
import os
import statistics
import sys
import time

import fast_matrix_market as fmm
import numpy as np
import scipy.io
import scipy.sparse as sp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import scipy_driver as driver  # noqa: E402

PATTERN, CSR, CSC, SYMMETRIC = 3, 1, 3, 1


def read(library, path):
    matrix = ctypes.c_void_p()
    library.call("matrix_open", library.context, ctypes.byref(matrix), path.encode(), None)
    return matrix


def write(library, A, path, layout=CSR, value_type=driver.F64, symmetry=0):
    a = driver.Arrays(layout=layout, rows=A.shape[0], cols=A.shape[1], nnz=A.nnz, offset_type=driver.I32,
                      index_type=driver.I32, value_type=value_type, symmetry=symmetry, offsets=A.indptr.ctypes.data,
                      indices=A.indices.ctypes.data, values=None if value_type == PATTERN else A.data.ctypes.data)
    matrix = ctypes.c_void_p()
    library.call("matrix_create", library.context, ctypes.byref(matrix), ctypes.byref(a))
    library.call("matrix_write", matrix, path.encode(), None)
    library.destroy(matrix)


def grid7(entries, rng):
    side = max(2, round((entries / 7) ** (1 / 3)))
    ones = np.ones(side)
    line = sp.diags([ones[1:], ones, ones[1:]], [-1, 0, 1])
    eye = sp.identity(side)
    A = (sp.kron(sp.kron(line, eye), eye) + sp.kron(sp.kron(eye, line), eye) + sp.kron(sp.kron(eye, eye), line)).tocsr()
    A.sort_indices()
    A.data = rng.random(A.nnz) - 0.5
    return A


def random_pattern(entries, rng):
    rows = entries // 10
    A = sp.csr_matrix(
        (np.ones(entries), rng.integers(0, rows, entries, dtype=np.int32), np.arange(0, entries + 1, 10, dtype=np.int32)),
        shape=(rows, rows),
    )
    A.sum_duplicates()
    return A


def make_files(library, folder, entries):
    os.makedirs(folder, exist_ok=True)
    names = ["grid7_rows", "grid7_columns", "grid7_symmetric", "random_pattern"]
    paths = [os.path.join(folder, f"{name}_{entries}.mtx") for name in names]
    if all(os.path.exists(path) for path in paths):
        return paths
    rng = np.random.default_rng(1)
    A = grid7(entries, rng)
    write(library, A, paths[0])
    write(library, A.tocsc(), paths[1], layout=CSC)
    lower = sp.tril(A)
    S = (lower + sp.tril(A, -1).T).tocsc()
    S.sort_indices()
    write(library, S, paths[2], layout=CSC, symmetry=SYMMETRIC)
    write(library, random_pattern(entries, rng), paths[3], value_type=PATTERN)
    return paths


def same(A, B):
    return (
        A.shape == B.shape
        and np.array_equal(A.indptr, B.indptr)
        and np.array_equal(A.indices, B.indices)
        and np.array_equal(A.data, B.data)
    )


def peers(threads):
    def with_fmm(path):
        return fmm.mmread(path, parallelism=threads).tocsr()

    def with_scipy(path):
        scipy.io._fast_matrix_market.PARALLELISM = threads
        return scipy.io.mmread(path).tocsr()

    return {"fast_matrix_market": with_fmm, "scipy": with_scipy}


def compare(library, others, path):
    matrix = read(library, path)
    ours = driver.scipy_view(library.arrays(matrix))
    for name, read_theirs in others.items():
        theirs = read_theirs(path)
        theirs.sum_duplicates()
        if not same(ours, theirs):
            sys.exit(f"{path}: {name} reads another matrix than this library does")
    library.destroy(matrix)


def measure(library, others, path, repeats):
    times = {name: [] for name in ["spry", *others]}
    for _ in range(repeats):
        start = time.perf_counter()
        matrix = read(library, path)
        times["spry"].append(time.perf_counter() - start)
        library.destroy(matrix)
        for name, read_theirs in others.items():
            start = time.perf_counter()
            result = read_theirs(path)
            times[name].append(time.perf_counter() - start)
            del result
    return {name: statistics.median(samples) for name, samples in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE.mtx")
    parser.add_argument("--library", default="build/libspry.so")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--entries", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", default="build/reader_bench")
    parser.add_argument("--no-compare", action="store_true", help="skip comparing the matrices first")
    args = parser.parse_args()

    files = args.files or make_files(driver.Library(args.library, 0), args.folder, args.entries)
    print(f"{'file':34} {'MB':>6} {'threads':>7} {'spry s':>8} {'MB/s':>6} {'fmm s':>8} {'scipy s':>8} {'ratio':>6}")
    for path in files:
        megabytes = os.path.getsize(path) / 1e6
        for threads in args.threads:
            library, others = driver.Library(args.library, threads), peers(threads)
            if not args.no_compare:
                compare(library, others, path)
            t = measure(library, others, path, args.repeats)
            best = min(t["fast_matrix_market"], t["scipy"])
            print(
                f"{os.path.basename(path):34} {megabytes:6.0f} {threads:7} {t['spry']:8.3f} {megabytes / t['spry']:6.0f} "
                f"{t['fast_matrix_market']:8.3f} {t['scipy']:8.3f} {best / t['spry']:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
