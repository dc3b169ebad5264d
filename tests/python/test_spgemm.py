"""Sparse products, compared with exact sums, and their plans."""

import gc
import pickle
import weakref

import numpy as np
import pytest
import scipy.sparse
from bounds import spgemm_error
from hypothesis import given
from hypothesis import strategies as st
from matrices import sparse

import spry


def test_bound_rejects_a_wrong_last_digit(grid):
    C = spry.spgemm(grid, grid)
    assert spgemm_error(C, grid, grid) <= 1
    C.data[100] *= 1 + 1e-13
    assert spgemm_error(C, grid, grid) > 1


@given(st.data())
def test_product(data):
    A = data.draw(sparse())
    B = data.draw(sparse(rows=st.just(A.shape[1])))
    C = spry.spgemm(A, B, threads=data.draw(st.sampled_from([None, 1, 2])))
    both_old = isinstance(A, scipy.sparse.spmatrix) and isinstance(B, scipy.sparse.spmatrix)
    assert isinstance(C, scipy.sparse.csr_matrix if both_old else scipy.sparse.csr_array)
    assert C.dtype == np.result_type(A.dtype, B.dtype)
    assert C.has_canonical_format
    assert spgemm_error(C, A, B) <= 1


@given(st.data())
def test_transposed_operands(data):
    A = data.draw(sparse(formats=("csr", "csc", "coo")))
    B = data.draw(sparse(rows=st.just(A.shape[0]), formats=("csr", "csc", "coo")))
    assert spgemm_error(spry.spgemm(A, B, transpose_a=True), A.T, B) <= 1
    assert spgemm_error(spry.spgemm(B, A, transpose_a=True, transpose_b=False), B.T, A) <= 1
    assert spgemm_error(spry.spgemm(A, A, transpose_b=True), A, A.T) <= 1


def test_alpha_and_zeros(grid):
    assert abs(spry.spgemm(grid, grid, alpha=-2) + 2 * (grid @ grid)).max() == 0
    A = scipy.sparse.csr_array(np.array([[1.0, 1.0], [0.0, 1.0]]))
    B = scipy.sparse.csr_array(np.array([[1.0, 0.0], [-1.0, 1.0]]))
    assert spry.spgemm(A, B).nnz == 4
    assert spry.spgemm(A, B, drop_zeros=True).nnz == 3


def test_same_bits_for_any_number_of_threads():
    A = spry.generate("rmat", scale=12)
    results = [spry.spgemm(A, A, threads=threads) for threads in (1, 2, None)]
    assert len({C.data.tobytes() + C.indices.tobytes() + C.indptr.tobytes() for C in results}) == 1


def test_arrays_are_adopted(grid):
    C = spry.spgemm(grid, grid)
    assert type(C.data.base).__name__ == "Matrix"
    assert C.data.base is C.indices.base is C.indptr.base
    owner_goes_last = C.data[:3]
    expected = owner_goes_last.copy()
    del C
    gc.collect()
    assert (owner_goes_last == expected).all()


def test_results_can_be_written(grid):
    C = spry.spgemm(grid, grid)
    C.data *= 2
    C[0, 0] = 5
    C.eliminate_zeros()
    assert C[0, 0] == 5


def test_full_output(grid):
    C, info = spry.spgemm(grid, grid, full_output=True)
    lengths = np.diff(grid.indptr)
    assert info.products == lengths[grid.indices].sum()
    assert info.nnz == C.nnz and info.kernel and info.peak_bytes > 0


def test_memory_limit(grid):
    with pytest.raises(spry.Error, match="memory_limit|limit") as caught:
        spry.spgemm(grid, grid, memory_limit=1000)
    assert caught.value.value > 1000
    assert abs(spry.spgemm(grid, grid, memory_limit=4 * caught.value.value) - grid @ grid).max() == 0


def test_sizes_that_do_not_fit(grid):
    with pytest.raises(spry.InvalidError, match="400"):
        spry.spgemm(grid, scipy.sparse.eye_array(7, format="csr"))


# ---- plans ----


@given(st.data())
def test_plan(data):
    A = data.draw(sparse(formats=("csr", "csc", "coo")))
    B = data.draw(sparse(rows=st.just(A.shape[1]), formats=("csr", "csc", "coo")))
    plan = spry.spgemm_plan(A, B)
    assert spgemm_error(plan.run(), A, B) <= 1
    if A.dtype == B.dtype:  # otherwise the plan owns a converted copy of an operand
        kept = A.data.copy()
        plan.update(a=A.data * 3)
        assert (A.data == kept).all()
        assert spgemm_error(plan.run(), 3 * A, B) <= 1


def test_results_of_a_plan_are_apart(grid):
    plan = spry.spgemm_plan(grid, grid)
    first = plan.run()
    kept = first.copy()
    grid.data *= 2
    second = plan.run()
    assert abs(first - kept).max() == 0 and abs(second - 4 * first).max() < 1e-10
    assert first.indices.base is second.indices.base and not first.indices.flags.writeable


def test_plan_into_an_array(grid):
    plan = spry.spgemm_plan(grid, grid)
    values = np.empty(plan.nnz)
    assert plan.run(values).data is values
    assert (values == spry.spgemm(grid, grid).data).all()
    for wrong in (values[:-1], values.astype("f4"), np.broadcast_to(values[:1], plan.nnz)):
        with pytest.raises(ValueError, match=f"{plan.nnz} entries of float64"):
            plan.run(wrong)


def test_plan_keeps_its_arrays(grid):
    plan = spry.spgemm_plan(grid, grid)
    expected = spry.spgemm(grid, grid)
    C, ref = plan.run(), weakref.ref(plan)
    again = pickle.loads(pickle.dumps(plan))
    del plan, grid
    gc.collect()
    assert ref() is None  # C's arrays keep the memory that they need
    assert abs(C - expected).max() == 0
    assert abs(again.run() - expected).max() == 0
    assert repr(again) == f"<spry.SpgemmPlan of 400 x 400, {C.nnz} entries, float64>"
    assert again.info.run_us > 0


def test_plan_sees_other_arrays_of_values(grid):
    A, B = grid, grid.copy()
    plan = spry.spgemm_plan(A, B)
    for matrix in (A, B, A):
        matrix.data = matrix.data * 2
        plan.update()
        assert spgemm_error(plan.run(), A, B) <= 1
    squared = spry.spgemm_plan(A, A)
    A.data = A.data / 4
    squared.update()
    assert spgemm_error(squared.run(), A, A) <= 1
    with pytest.raises(TypeError, match="b is a matrix, .*, expected the array of its values, such as A.data"):
        plan.update(b=B)


def test_plan_of_read_only_values(grid):
    A = grid.copy()
    A.data.flags.writeable = False
    plan = spry.spgemm_plan(A, grid)
    kept = A.data
    for factor in (2, 3):
        A.data = kept * factor
        A.data.flags.writeable = False
        plan.update()
        assert spgemm_error(plan.run(), A, grid) <= 1
    assert (kept == grid.data).all()


def test_plan_of_copies_sees_no_changes(grid):
    for other, name in ((grid.tobsr((2, 2)), "bsr"), (grid.astype("f4"), "float32")):
        plan = spry.spgemm_plan(grid, other)
        with pytest.raises(spry.InvalidError, match=f"a copy of a {name} matrix"):
            plan.update()
        plan.update(b=2 * other.tocsr().data)
        assert abs(plan.run() - 2 * grid @ grid).max() == 0


def test_plan_values_are_looked_at(grid):
    plan = spry.spgemm_plan(grid, grid)
    with pytest.raises(spry.InvalidError, match="out"):
        plan.run(grid.data[: plan.nnz])
    before = grid.data.copy()
    for wrong in (2.0, [1.0], before[:-1]):
        with pytest.raises(spry.InvalidError, match="values has shape"):
            plan.update(a=wrong)
    np.testing.assert_array_equal(grid.data, before)
