"""Compares fill-in and time of a direct solve with Conjugate Gradient on grids of different sizes. Prints JSON lines.

Needs a Python with SciPy (study/run finds one). The direct solver is SuperLU (scipy.sparse.linalg.splu), in the natural
order, which is Gaussian elimination without reordering, and in a minimum-degree order. CG is `spry solve` with one
thread, from 0 to a relative residual of TOLERANCE. Both solvers solve A x = (1, 1, ...) for the finite differences of
`gen:laplace5` (a square) and `gen:laplace7` (a cube).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

TOLERANCE = 1e-10
ORDERS = {"natural": "NATURAL", "minimum degree": "MMD_AT_PLUS_A"}


def grid(dimensions, side):
    return f"gen:laplace{2 * dimensions + 1}," + ",".join(f"{axis}={side}" for axis in "xyz"[:dimensions])


def banded_entries(dimensions, side):
    """Estimates the entries of both factors in the natural order, in which the whole band fills."""
    return 2 * side ** dimensions * side ** (dimensions - 1)


def spry(program, arguments):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout


def read_matrix(program, name, folder):
    """Returns the matrix that CG solves, as SciPy's CSC."""
    import scipy.io
    path = os.path.join(folder, "a.mtx")
    spry(program, ["gen", name.removeprefix("gen:"), "-o", path, "--full"])
    return scipy.io.mmread(path).tocsc()


def factorise(matrix, order):
    """Factorises a symmetric matrix with diagonal pivots. Returns entries, bytes and times, and the solution."""
    import numpy
    import scipy.sparse.linalg
    start = time.perf_counter()
    factors = scipy.sparse.linalg.splu(matrix, permc_spec=ORDERS[order], diag_pivot_thresh=0,
                                       options={"SymmetricMode": True})
    factored = time.perf_counter()
    x = factors.solve(numpy.ones(matrix.shape[0]))
    solved = time.perf_counter()
    parts = (factors.L, factors.U)
    entries = sum(part.nnz for part in parts) - matrix.shape[0]  # SciPy also stores L's unit diagonal
    return {"order": order, "factor_entries": entries, "fill_in": entries - matrix.nnz,
            "factor_bytes": sum(p.data.nbytes + p.indices.nbytes + p.indptr.nbytes for p in parts),
            "factor_us": 1e6 * (factored - start), "solve_us": 1e6 * (solved - factored)}, x


def conjugate_gradient(program, name, folder):
    import numpy
    path = os.path.join(folder, "x.mtx")
    text = spry(program, ["solve", name, "--tol", str(TOLERANCE), "--threads", "1", "--json", "--out", path])
    record = json.loads(text)
    with open(path, encoding="utf-8") as file:
        numbers = [line for line in file if not line.startswith("%")][1:]
    # CSR with f64 values and 32-bit indices, and the vectors x, b, r, p, q
    held = 12 * record["nnz"] + 4 * (record["rows"] + 1) + 5 * 8 * record["rows"]
    return {"cg_iterations": record["iterations"], "cg_us": record["setup_us"] + record["time_us"], "cg_bytes": held,
            "cg_format": record["format"], "cg_residual": record["true_residual"]}, numpy.array(numbers, dtype=float)


def compare(program, dimensions, side, most_entries):
    """Yields one record per order. An order whose band would have too many entries has a reason instead of numbers."""
    import numpy
    name = grid(dimensions, side)
    with tempfile.TemporaryDirectory() as folder:
        matrix = read_matrix(program, name, folder)
        cg, x_cg = conjugate_gradient(program, name, folder)
    common = {"study": "fill-in", "grid": name, "dimensions": dimensions, "side": side, "rows": matrix.shape[0],
              "nnz": int(matrix.nnz), "matrix_bytes": 12 * int(matrix.nnz) + 4 * (matrix.shape[0] + 1), **cg}
    for order in ORDERS:
        if order == "natural" and banded_entries(dimensions, side) > most_entries:
            yield {**common, "order": order, "status": "skipped",
                   "reason": f"its band would hold over {most_entries} entries"}
            continue
        direct, x = factorise(matrix, order)
        distance = float(numpy.linalg.norm(x - x_cg) / numpy.linalg.norm(x))
        yield {**common, **direct, "distance": distance, "status": "ok", "reason": ""}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="spry", help="the program spry")
    parser.add_argument("--squares", metavar="LIST", default="32,64,128,256,512", help="sides of the squares")
    parser.add_argument("--cubes", metavar="LIST", default="8,12,16,24,32", help="sides of the cubes")
    parser.add_argument("--most-entries", metavar="N", type=int, default=60_000_000,
                        help="skip the natural order if its factors would have more entries")
    a = parser.parse_args()
    try:
        import scipy.sparse.linalg  # noqa: F401
    except ImportError:
        sys.exit(f"{sys.executable} has no SciPy")
    for dimensions, sides in ((2, a.squares), (3, a.cubes)):
        for side in (int(s) for s in sides.split(",") if s):
            for record in compare(a.program, dimensions, side, a.most_entries):
                print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
