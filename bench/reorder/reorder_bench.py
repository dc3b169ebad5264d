#!/usr/bin/env python3
"""Times this library's orderings beside SciPy's reverse_cuthill_mckee, in one process, on the same arrays.

    python3 bench/reorder/reorder_bench.py --library build/libspry.so gen:rgg21p gen:grid7p FILE.mtx.gz

Orderings take turns, --rounds times over; medians and the quartiles' distance are printed, and bandwidths, which are
computed here for all of them alike. SciPy is called with symmetric_mode=True where the pattern is symmetric (it then
takes that for granted; this library looks) and without where it is not, when SciPy forms A + A^T as this library does.
SciPy has one thread; --threads (1) are this library's. Needs numpy and scipy.
"""
import argparse
import ctypes
import os
import statistics
import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import scipy_driver as driver  # noqa: E402

Options = driver.struct("spry_ordering_options", "struct_size:z method:s k:i srs:l ssrs:l tuning:s")
Info = driver.struct("spry_ordering_info", "struct_size:z method:s rows:l cols:l row_perm:p col_perm:p components:l "
                     "sr_count:l ssr_count:l sr_ptr:p ssr_ptr:p srs:l ssrs:l setup_us:d")


def ours(library, matrix, method, rows):
    ordering, info = ctypes.c_void_p(), Info()
    start = time.perf_counter()
    library.call("ordering_create", library.context, ctypes.byref(ordering), matrix,
                 ctypes.byref(Options(method=method.encode())))
    seconds = time.perf_counter() - start
    library.call("ordering_get_info", ordering, ctypes.byref(info))
    perm = driver.view(info.row_perm, rows, ctypes.c_int64).copy()
    library.library.spry_ordering_destroy(ordering)
    return seconds, perm


def scipys(A, symmetric):
    start = time.perf_counter()
    perm = reverse_cuthill_mckee(A, symmetric_mode=symmetric)
    return time.perf_counter() - start, perm


def bandwidth(A, perm):
    if sorted_is_not_range(perm):
        raise SystemExit("an ordering is no permutation")
    place = np.empty(perm.size, np.int64)
    place[perm] = np.arange(perm.size)
    rows = np.repeat(place, np.diff(A.indptr))
    return int(np.abs(rows - place[A.indices]).max(initial=0))


def sorted_is_not_range(perm):
    return not np.array_equal(np.sort(perm), np.arange(perm.size))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="Matrix Market, .gz too, or gen:NAME; square")
    parser.add_argument("--library", required=True, metavar="PATH", help="libspry.so")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    arguments = parser.parse_args()
    library = driver.Library(arguments.library, arguments.threads)
    print(f"{'matrix':28} {'ordering':12} {'ms':>9} {'spread':>8} {'SciPy/it':>9} {'it/rcm':>7} {'bandwidth':>10} "
          f"{'/rcm':>6}")
    for path in arguments.files:
        matrix = library.read(path, driver.F64, driver.INDICES["32/32"])
        a = library.arrays(matrix)
        A = driver.scipy_view(a)
        pattern = sp.csr_matrix((np.ones(a.nnz, np.int8), A.indices, A.indptr), shape=A.shape)
        symmetric = (pattern != pattern.T).nnz == 0
        kinds = {"scipy": lambda: scipys(A, symmetric), "rcm": lambda: ours(library, matrix, "rcm", a.rows),
                 "bandk": lambda: ours(library, matrix, "bandk", a.rows),
                 "degree": lambda: ours(library, matrix, "degree", a.rows)}
        times, bands = {kind: [] for kind in kinds}, {}
        for _ in range(arguments.rounds):
            for kind, run in kinds.items():
                seconds, perm = run()
                times[kind].append(1e3 * seconds)
                if kind not in bands:
                    bands[kind] = bandwidth(A, perm)
        median = {kind: statistics.median(values) for kind, values in times.items()}
        for kind, values in times.items():
            quartiles = statistics.quantiles(values, n=4, method="inclusive")
            print(f"{driver.name_of(path):28} {kind:12} {median[kind]:9.2f} {quartiles[2] - quartiles[0]:8.2f} "
                  f"{median['scipy'] / median[kind]:9.2f} {median[kind] / median['rcm']:7.2f} {bands[kind]:10} "
                  f"{bands[kind] / max(1, bands['rcm']):6.2f}", flush=True)
        del A, pattern
        library.destroy(matrix)


if __name__ == "__main__":
    main()
