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

F64, PATTERN, I32, CSR, CSC, SYMMETRIC = 2, 3, 1, 1, 3, 1


class Arrays(ctypes.Structure):
    """spry_arrays of spry.h."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("layout", ctypes.c_int),
        ("rows", ctypes.c_int64),
        ("cols", ctypes.c_int64),
        ("nnz", ctypes.c_int64),
        ("offset_type", ctypes.c_int),
        ("index_type", ctypes.c_int),
        ("value_type", ctypes.c_int),
        ("offsets", ctypes.c_void_p),
        ("row_indices", ctypes.c_void_p),
        ("indices", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("ownership", ctypes.c_int),
        ("sorted", ctypes.c_int),
        ("unique", ctypes.c_int),
        ("symmetry", ctypes.c_int),
    ]


class ContextOptions(ctypes.Structure):
    """spry_context_options of spry.h."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("allocate", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
        ("threads", ctypes.c_int),
    ]


class Error(ctypes.Structure):
    """spry_error of spry.h."""

    _fields_ = [
        ("status", ctypes.c_int),
        ("message", ctypes.c_char * 512),
        ("argument", ctypes.c_char * 48),
        ("value", ctypes.c_int64),
        ("limit", ctypes.c_int64),
        ("file", ctypes.c_char * 256),
        ("line", ctypes.c_int64),
    ]


class Spry:
    """One context of libspry with a number of threads."""

    def __init__(self, library, threads):
        self.lib = library
        options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), threads=threads)
        self.context, self.error = ctypes.c_void_p(), Error()
        self.check(self.lib.spry_context_create(ctypes.byref(self.context), ctypes.byref(options), self.err))

    @property
    def err(self):
        return ctypes.byref(self.error)

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.error.message.decode())

    def read(self, path):
        matrix = ctypes.c_void_p()
        self.check(self.lib.spry_matrix_read(self.context, ctypes.byref(matrix), path.encode(), None, self.err))
        return matrix

    def destroy(self, matrix):
        self.lib.spry_matrix_destroy.argtypes = [ctypes.c_void_p]
        self.lib.spry_matrix_destroy(matrix)

    def to_scipy(self, matrix):
        a = Arrays(struct_size=ctypes.sizeof(Arrays))
        self.check(self.lib.spry_matrix_get_arrays(matrix, ctypes.byref(a), self.err))
        offset = ctypes.c_int32 if a.offset_type == I32 else ctypes.c_int64
        index = ctypes.c_int32 if a.index_type == I32 else ctypes.c_int64

        def view(pointer, kind, count):
            return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(kind)), (count,)).copy()

        return sp.csr_matrix(
            (view(a.values, ctypes.c_double, a.nnz), view(a.indices, index, a.nnz), view(a.offsets, offset, a.rows + 1)),
            shape=(a.rows, a.cols),
        )

    def write(self, A, path, layout=CSR, value_type=F64, symmetry=0):
        a = Arrays(struct_size=ctypes.sizeof(Arrays), layout=layout, rows=A.shape[0], cols=A.shape[1], nnz=A.nnz)
        a.offset_type = a.index_type = I32
        a.value_type, a.symmetry = value_type, symmetry
        a.offsets, a.indices = A.indptr.ctypes.data, A.indices.ctypes.data
        a.values = A.data.ctypes.data if value_type == F64 else None
        matrix = ctypes.c_void_p()
        self.check(self.lib.spry_matrix_create(self.context, ctypes.byref(matrix), ctypes.byref(a), self.err))
        self.check(self.lib.spry_matrix_write(matrix, path.encode(), None, self.err))
        self.destroy(matrix)


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


def make_files(spry, folder, entries):
    os.makedirs(folder, exist_ok=True)
    names = ["grid7_rows", "grid7_columns", "grid7_symmetric", "random_pattern"]
    paths = [os.path.join(folder, f"{name}_{entries}.mtx") for name in names]
    if all(os.path.exists(path) for path in paths):
        return paths
    rng = np.random.default_rng(1)
    A = grid7(entries, rng)
    spry.write(A, paths[0])
    spry.write(A.tocsc(), paths[1], layout=CSC)
    lower = sp.tril(A)
    S = (lower + sp.tril(A, -1).T).tocsc()
    S.sort_indices()
    spry.write(S, paths[2], layout=CSC, symmetry=SYMMETRIC)
    spry.write(random_pattern(entries, rng), paths[3], value_type=PATTERN)
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


def compare(spry, others, path):
    matrix = spry.read(path)
    ours = spry.to_scipy(matrix)
    spry.destroy(matrix)
    for name, read in others.items():
        theirs = read(path)
        theirs.sum_duplicates()
        if not same(ours, theirs):
            sys.exit(f"{path}: {name} reads another matrix than this library does")
    return ours.nnz


def measure(spry, others, path, repeats):
    times = {name: [] for name in ["spry", *others]}
    for _ in range(repeats):
        start = time.perf_counter()
        matrix = spry.read(path)
        times["spry"].append(time.perf_counter() - start)
        spry.destroy(matrix)
        for name, read in others.items():
            start = time.perf_counter()
            result = read(path)
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

    library = ctypes.CDLL(os.path.abspath(args.library))
    files = args.files or make_files(Spry(library, 0), args.folder, args.entries)
    print(f"{'file':34} {'MB':>6} {'threads':>7} {'spry s':>8} {'MB/s':>6} {'fmm s':>8} {'scipy s':>8} {'ratio':>6}")
    for path in files:
        megabytes = os.path.getsize(path) / 1e6
        for threads in args.threads:
            spry, others = Spry(library, threads), peers(threads)
            if not args.no_compare:
                compare(spry, others, path)
            t = measure(spry, others, path, args.repeats)
            best = min(t["fast_matrix_market"], t["scipy"])
            print(
                f"{os.path.basename(path):34} {megabytes:6.0f} {threads:7} {t['spry']:8.3f} {megabytes / t['spry']:6.0f} "
                f"{t['fast_matrix_market']:8.3f} {t['scipy']:8.3f} {best / t['spry']:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
