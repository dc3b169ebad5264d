#!/usr/bin/env python3
"""types.py INTEGERS: compares PETSc's matrix types of bindings/petsc with aij, from Python (petsc4py).

INTEGERS  int32 or int64: the integers of the tested PETSc

The program does the same work with aij and with aijspry, on any number of ranks, and compares the results. It tests
products before and after new values and structure, sparse products with a reused structure, conversions, and solves.
Entries and vectors are integers, or integers divided by a power of two. They have enough bits that sums are exact in
any order, but not in a narrower type. Results must therefore be equal. PETSC_OPTIONS loads the plug-in, as for a user.
The program ends with an exception if two results differ.
"""
import sys

import petsc4py

petsc4py.init(sys.argv)

import numpy as np
from petsc4py import PETSc

ROUNDS = 45  # enough products for every stage of planning
ROWS, PER_ROW = 6000, 9  # enough entries for a plan in each block of two ranks
ROOM = np.finfo(PETSc.RealType).nmant + 1 - 5  # bits of a product, such that the sum of 32 products is exact
ENTRY_BITS = ROOM * 3 // 5
VECTOR_BITS = ROOM - ENTRY_BITS
FACTOR_BITS = ROOM // 3 - 1  # the product of three such entries is exact
OURS = "aijspry"


# ---- comparing ----
def require(condition, what):
    """Raises an exception on all ranks if the condition is false on one rank."""
    failed = PETSc.Vec().createMPI((1, None))
    failed.setValue(PETSc.COMM_WORLD.rank, 0 if condition else 1)
    failed.assemble()
    if failed.sum() != 0:
        raise AssertionError(what)


def same_vectors(expected, found, what):
    require(np.array_equal(expected.getArray(readonly=True), found.getArray(readonly=True)), f"{what}: results differ")


def same_matrices(expected, found, what):
    """Requires that two matrices have the same entries at the same positions."""
    names = ("row offsets", "columns", "values")
    for name, a, b in zip(names, expected.getValuesCSR(), found.getValuesCSR()):
        require(np.array_equal(a, b), f"{what}: {name} differ")


def require_type(A, name):
    require(A.getType() in (f"seq{name}", f"mpi{name}"), f"a matrix has type {A.getType()}, expected {name}")


# ---- matrices and vectors ----
def integers(generator, bits, count):
    return generator.integers(1 - 2**bits, 2**bits, count).astype(PETSc.ScalarType)


def random_rows(begin, end, cols, per_row, bits, seed):
    """Returns CSR arrays of some rows: at most `per_row` random entries per row, and the diagonal."""
    generator = np.random.default_rng([seed, begin])
    rows = np.arange(begin, end)
    places = (rows[:, None] * cols + generator.integers(cols, size=(end - begin, per_row))).ravel()
    places = np.unique(np.concatenate([places, rows * cols + rows % cols]))
    offsets = np.searchsorted(places, np.arange(begin, end + 1) * cols)
    return (offsets.astype(PETSc.IntType), (places % cols).astype(PETSc.IntType),
            integers(generator, bits, places.size))


def laplacian(begin, end, side):
    """Returns CSR arrays of some rows of the five-point Laplacian of a square grid."""
    rows = np.arange(begin, end)
    x, y = rows % side, rows // side
    there = np.stack([y > 0, x > 0, x >= 0, x < side - 1, y < side - 1], axis=1)
    columns = rows[:, None] + np.array([-side, -1, 0, 1, side])
    values = np.broadcast_to(np.array([-1, -1, 4, -1, -1], PETSc.ScalarType), columns.shape)
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return offsets.astype(PETSc.IntType), columns[there].astype(PETSc.IntType), values[there]


def make(kind, shape, rows_of, *arguments):
    A = PETSc.Mat().create()
    A.setSizes(shape)
    A.setType(kind)
    A.setUp()
    A.setPreallocationCSR(rows_of(*A.getOwnershipRange(), *arguments))
    A.assemble()
    return A


def pair(shape, rows_of, *arguments):
    """Returns the same matrix as aij and as aijspry."""
    matrices = [make(kind, shape, rows_of, *arguments) for kind in ("aij", OURS)]
    require_type(matrices[0], "aij")
    require_type(matrices[1], OURS)
    return matrices


def random_pair(rows, cols, per_row, bits, seed):
    return pair((rows, cols), random_rows, cols, per_row, bits, seed)


def random_vector(vector, seed):
    generator = np.random.default_rng([seed, vector.getOwnershipRange()[0]])
    vector.setArray(integers(generator, VECTOR_BITS, vector.getLocalSize()))
    return vector


def same_products(matrices, rounds, what):
    """Compares all products with vectors, `rounds` times."""
    x, tx = (random_vector(v, k) for k, v in enumerate(matrices[0].createVecs()))
    results = []
    for A in matrices:
        y, ty = A.createVecLeft(), A.createVecRight()
        results.append((y, y.duplicate(), ty, ty.duplicate()))
    for _ in range(rounds):
        for A, (y, sum_, ty, tsum) in zip(matrices, results):
            A.mult(x, y)
            A.multAdd(x, tx, sum_)
            A.multTranspose(tx, ty)
            A.multTransposeAdd(tx, x, tsum)
        for name, a, b in zip(("A*x", "y + A*x", "A^T*x", "y + A^T*x"), *results):
            same_vectors(a, b, f"{what}, {name}")


# ---- cases ----
def set_some_values(A, turn):
    """Negates the values of every seventh row and replaces its diagonal."""
    begin, end = A.getOwnershipRange()
    offsets, columns, values = A.getValuesCSR()
    for i in range(begin, end, 7):
        row = slice(*offsets[i - begin : i - begin + 2])
        A.setValues(i, columns[row], -values[row])
        A.setValue(i, i, turn + 1)
    A.assemble()


def values_and_structure_change():
    matrices = random_pair(ROWS, ROWS, PER_ROW, ENTRY_BITS, 1)
    same_products(matrices, ROUNDS, "new")
    for A in matrices:
        A.scale(0.5)
    same_products(matrices, 2, "scaled")
    for turn in range(6):
        for A in matrices:
            set_some_values(A, turn)
        same_products(matrices, 2, "with values set")
    diagonal = random_vector(matrices[0].createVecLeft(), 8)
    for A in matrices:
        A.setDiagonal(diagonal)
    same_products(matrices, 2, "with another diagonal")
    for A in matrices:
        A.setOption(PETSc.Mat.Option.NEW_NONZERO_ALLOCATION_ERR, False)
        begin, end = A.getOwnershipRange()
        for i in range(begin, end, 50):
            A.setValues(i, [(7 * i + 11) % ROWS], 3)
        A.assemble()
    same_products(matrices, ROUNDS, "with another structure")
    same_matrices(*matrices, "with another structure")
    PETSc.Sys.Print("what products of ours go through:")
    viewer = PETSc.Viewer.STDOUT()
    viewer.pushFormat(PETSc.Viewer.Format.ASCII_INFO)
    matrices[1].view(viewer)
    viewer.popFormat()


def conversions():
    aij, ours = random_pair(ROWS, ROWS, PER_ROW, ENTRY_BITS, 2)
    same_products((aij, ours), ROUNDS, "original")
    copy = ours.copy()
    require_type(copy, OURS)
    copy.scale(2)
    same_products((aij, ours), 3, "original beside its copy")
    back = ours.convert("aij", PETSc.Mat())
    require_type(back, "aij")
    require_type(ours, OURS)
    same_matrices(aij, back, "converted to aij")
    same_products((aij, back), 3, "converted to aij")
    for A in (aij, ours):
        A.scale(2)
    ours.convert("aij", back)
    require_type(back, "aij")
    same_matrices(aij, back, "converted into an aij matrix")
    aij.convert(OURS, copy)
    require_type(copy, OURS)
    same_matrices(aij, copy, "converted into one of ours")
    same_products((aij, copy), 3, "converted into one of ours")
    back.convert(OURS)
    require_type(back, OURS)
    same_products((aij, back), ROUNDS, "converted in place")
    back.convert("aij")
    require_type(back, "aij")
    same_products((aij, back), 3, "converted back in place")
    same_products((aij.transpose(PETSc.Mat()), ours.transpose(PETSc.Mat())), ROUNDS, "transposed")
    PETSc.Options().setValue("named_mat_type", OURS)
    named = PETSc.Mat().create()
    named.setSizes((ROWS, ROWS))
    named.setOptionsPrefix("named_")
    named.setFromOptions()
    require_type(named, OURS)
    PETSc.Options().delValue("named_mat_type")


def same_sparse_products(name, multiply, a, b):
    results = [multiply(*operands) for operands in zip(a, b)]
    require_type(results[1], OURS)
    same_matrices(*results, name)
    for factor in (0.5, 2, -1):
        for A in (*a, *b):
            A.scale(factor)
        results = [multiply(*operands, result=C) for *operands, C in zip(a, b, results)]
        same_matrices(*results, f"{name}, new values")


def solves():
    side = 100
    matrices = pair((side * side, side * side), laplacian, side)
    ones, residual = matrices[0].createVecs()
    ones.set(1)
    for factor in (1, 4, 0.5):
        iterations = []
        for A in matrices:
            A.scale(factor)
            solver = PETSc.KSP().create()
            solver.setOperators(A)
            solver.setType("cg")
            solver.getPC().setType("jacobi")
            solver.setTolerances(rtol=1e-5)
            x = A.createVecRight()
            solver.solve(ones, x)
            require(solver.getConvergedReason() > 0, "a solve does not converge")
            iterations.append(solver.getIterationNumber())
        matrices[0].mult(x, residual)
        residual.aypx(-1, ones)
        require(residual.norm() <= 2e-5 * ones.norm(), f"the solution of ours leaves a residual of {residual.norm()}")
        require(iterations[0] == iterations[1], "{} iterations with aij, {} with ours".format(*iterations))
        require(iterations[0] > 40, f"{iterations[0]} iterations are too few for a test")


def main():
    require(np.dtype(PETSc.IntType).itemsize == {"int32": 4, "int64": 8}[sys.argv[1]], "this PETSc has other integers")
    values_and_structure_change()
    conversions()
    a, b = random_pair(ROWS, ROWS, 4, FACTOR_BITS, 3), random_pair(ROWS, ROWS // 6, 2, FACTOR_BITS, 4)
    same_sparse_products("A*B", PETSc.Mat.matMult, a, b)
    same_sparse_products("A^T*B", PETSc.Mat.transposeMatMult, a, b)
    same_sparse_products("P^T*A*P", PETSc.Mat.ptap, a, b)
    if PETSc.COMM_WORLD.size == 1:  # PETSc has no A*B^T over ranks
        same_sparse_products("A*B^T", PETSc.Mat.matTransposeMult, a, random_pair(ROWS, ROWS, 2, FACTOR_BITS, 5))
    solves()
    PETSc.Sys.Print("all results are the same")


main()
