"""Plans as Python objects: transposes, new values, information, pickling, SciPy's operators."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from bounds import assert_product, product_error
from matrices import random_csr

import spry


def test_transpose_of_the_transpose(grid):
    plan = spry.plan(grid)
    assert plan.T is plan.T
    assert plan.T.T is plan
    transposed = plan.T
    del plan
    gc.collect()
    x = np.arange(grid.shape[0], dtype=float)
    assert_product(transposed.T @ x, grid, x)


def test_arrays_are_borrowed_and_kept(rng):
    A = random_csr(rng, 300, 300)
    data, copied = weakref.ref(A.data), A.copy()
    plan, x = spry.plan(A, format="csr"), rng.standard_normal(300)
    expected = plan @ x
    del A
    gc.collect()
    assert data() is not None
    assert (plan @ x == expected).all()
    assert_product(plan @ x, copied, x)
    del plan
    gc.collect()
    assert data() is None


@pytest.mark.parametrize("order", ["vector", "C", "F"])
def test_large_results_begin_with_a_cache_line(order, rng):
    A = spry.generate("grid5", x=400, y=400)
    plan = spry.plan(A)
    x = rng.standard_normal((A.shape[1], 3) if order != "vector" else A.shape[1])
    x = np.asarray(x, order=None if order == "vector" else order)
    y = plan @ x
    part, before = y[7:90], y[7:90].copy()
    assert y.ctypes.data % 64 == 0 and y.dtype == x.dtype and y.shape == x.shape
    assert y.flags.c_contiguous if order != "F" else y.flags.f_contiguous
    del y
    places = set()
    for k in range(8):
        y = plan @ (k * x)
        if k > 5:  # results use two memory blocks in turn, so both are checked
            assert_product(y, A, k * x)
        places.add(y.ctypes.data)
    assert len(places) == 2
    assert (part == before).all()


def test_values_in_place_are_seen(grid, rng):
    plan, x = spry.plan(grid, format="csr"), rng.standard_normal(grid.shape[1])
    assert plan.info.values_in_place
    grid.data *= 3
    assert_product(plan @ x, grid, x)


@pytest.mark.parametrize("format", ["csr", "sell", "coo", "ell"])
def test_update_in_place(grid, rng, format):
    plan, x = spry.plan(grid, format=format), rng.standard_normal((grid.shape[1], 3))
    first, last = plan @ x, plan.T @ x
    grid.data[:] = rng.standard_normal(grid.nnz)
    plan.update()
    assert_product(plan @ x, grid, x)
    assert_product(plan @ x[:, 0], grid, x[:, 0])
    assert_product(plan.T @ x, grid.T, x)
    assert product_error(first, grid, x) > 1 and product_error(last, grid.T, x) > 1


@pytest.mark.parametrize("format", ["csr", "sell"])
@pytest.mark.parametrize("from_transpose", [False, True])
def test_update_with_an_array(grid, rng, format, from_transpose):
    plan, x = spry.plan(grid, format=format), rng.standard_normal((grid.shape[1], 3))
    plan @ x, plan.T @ x
    values = rng.standard_normal(grid.nnz)
    (plan.T if from_transpose else plan).update(values)
    changed = scipy.sparse.csr_array((values, grid.indices, grid.indptr), shape=grid.shape)
    for each in (plan, pickle.loads(pickle.dumps(plan))):
        assert_product(each @ x, changed, x)
        assert_product(each.T @ x, changed.T, x)


def test_update_of_a_converted_matrix(grid, rng):
    A, x = grid.tobsr((2, 2)), rng.standard_normal(grid.shape[1])
    plan = spry.plan(A)
    A.data *= 2
    with pytest.raises(spry.InvalidError, match=r"a copy of a bsr matrix.*update\(values\)"):
        plan.update()
    plan.update(A.tocsr().data)
    assert_product(plan @ x, A, x)


def test_update_refuses_other_sizes_and_types(grid):
    plan = spry.plan(grid)
    with pytest.raises(ValueError, match=rf"values has shape \(3,\), expected \({grid.nnz},\)"):
        plan.update(np.ones(3))
    with pytest.raises(TypeError, match="values holds complex128, expected float64"):
        plan.update(np.ones(grid.nnz, complex))


def test_update_refuses_a_matrix(grid):
    plan = spry.plan(grid)
    for matrix in (grid, grid.tobsr()):
        with pytest.raises(TypeError, match="values is a matrix, scipy.sparse.*, expected the array .*, such as A.data"):
            plan.update(matrix)


def test_info(grid):
    plan = spry.plan(grid, format="sell:c=4", threads=1)
    assert (plan.info.format, plan.info["device"], plan.info.threads) == ("sell", "cpu", 1)
    assert "c=4" in plan.info.parameters
    assert plan.info.setup_us > 0 and plan.info.storage_bytes > 8 * grid.nnz
    assert plan.info.blocks is None
    plan @ np.ones((grid.shape[1], 2))
    assert plan.info.blocks.format == "sell"
    assert spry.plan(grid).info.reason
    with pytest.raises(AttributeError, match="nothing"):
        plan.info.nothing


def test_explain(grid):
    told = spry.plan(grid, format="coo").explain()
    assert told.format == told.candidates[0].format
    assert {"csr", "sell"} <= {c.format for c in told.candidates}
    assert told.reason in str(told) and "never" in str(told)
    assert any(f.name and f.text for f in told.features)


def test_repr(grid):
    assert repr(spry.plan(grid, format="csr")).startswith("<spry.Plan of 400 x 400, 1920 entries, float64, csr_")


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda plan: pickle.loads(pickle.dumps(plan))])
def test_copies(rng, make, transposed):
    A = random_csr(rng, 30, 20)
    plan = spry.plan(A, format="sell:c=4")
    made = make(plan.T if transposed else plan)
    A = A.T if transposed else A
    x = rng.standard_normal(A.shape[1])
    assert made.info.format == "sell" and made.shape == A.shape
    assert_product(made @ x, A, x)


def test_weak_references(grid):
    plan = spry.plan(grid)
    plan.T @ np.ones(grid.shape[0])
    ref = weakref.ref(plan)
    gc.disable()
    try:
        del plan
        assert ref() is None  # plan and plan.T have no reference cycle
    finally:
        gc.enable()


def test_linear_operator(rng):
    A = random_csr(rng, 30, 20)
    operator = scipy.sparse.linalg.aslinearoperator(spry.plan(A))
    assert isinstance(operator, scipy.sparse.linalg.LinearOperator)
    x, X = rng.standard_normal(20), rng.standard_normal((20, 3))
    y, Y = rng.standard_normal(30), rng.standard_normal((30, 3))
    assert_product(operator.matvec(x), A, x)
    assert_product(operator.matmat(X), A, X)
    assert_product(operator.rmatvec(y), A.T, y)
    assert_product(operator.rmatmat(Y), A.T, Y)
    assert_product(operator.T @ y, A.T, y)


@pytest.mark.parametrize("solver", ["cg", "gmres", "bicgstab"])
def test_solvers_of_scipy(grid, rng, solver):
    b = rng.standard_normal(grid.shape[0])
    x, info = getattr(scipy.sparse.linalg, solver)(spry.plan(grid), b, rtol=1e-8)
    assert info == 0
    assert np.linalg.norm(b - grid @ x) <= 1.01e-8 * np.linalg.norm(b)


def test_eigenvalues_of_scipy(grid):
    ours = scipy.sparse.linalg.eigsh(spry.plan(grid), k=3, return_eigenvectors=False)
    theirs = np.linalg.eigvalsh(grid.toarray())[-3:]
    assert np.abs(np.sort(ours) - theirs).max() < 1e-10


def test_matrix_exponential_of_scipy(grid, rng):
    """SciPy recognises an operator by its class, so the plan is wrapped."""
    plan, x = spry.plan(grid), rng.standard_normal(grid.shape[0])
    operator = scipy.sparse.linalg.aslinearoperator(plan)
    wanted = scipy.sparse.linalg.expm_multiply(grid, x)
    given = scipy.sparse.linalg.expm_multiply(operator, x, traceA=grid.trace())
    np.testing.assert_allclose(given, wanted, rtol=1e-9)
    with pytest.raises(AttributeError, match=r"a plan has no trace: scipy.sparse.linalg.aslinearoperator\(plan\)"):
        scipy.sparse.linalg.expm_multiply(plan, x)
    with pytest.raises(TypeError, match=r"cannot be added or subtracted: scipy.sparse.linalg.aslinearoperator\(plan\)"):
        scipy.sparse.linalg.expm_multiply(plan, x, traceA=1.0)
    with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
        plan.nothing


def test_update_sees_another_array_of_values(rng):
    A = random_csr(rng, 30, 20)
    plan, x = spry.plan(A), rng.standard_normal(20)
    plan.T
    A.data = A.data * 2
    plan.update()
    np.testing.assert_allclose(plan @ x, A @ x, atol=1e-13)
    A.data = A.data * 2
    plan.T.update()
    np.testing.assert_allclose(plan @ x, A @ x, atol=1e-13)
    A.data = A.data[:-1]
    with pytest.raises(spry.InvalidError, match="shape"):
        plan.update()


def test_a_plan_is_no_array(grid):
    with pytest.raises(TypeError, match="not an array"):
        np.asarray(spry.plan(grid))


def with_duplicates(rng, name):
    count = 5000
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rng.integers(0, 100, count), minlength=100))])
    arrays = (np.ones(count), rng.integers(0, 100, count), indptr)
    return getattr(scipy.sparse, f"{name}_array")(arrays, shape=(100, 100))


@pytest.mark.parametrize("name", ["csr", "csc"])
def test_a_structure_that_scipy_changes_in_place_is_seen(rng, name):
    """abs() and others sum duplicates in place. Later plans of the arrays inspect the structure again."""
    for _ in range(20):
        A = with_duplicates(rng, name)
        wanted = A.toarray()
        plan = spry.plan(A)
        abs(A)
        for transposed in (False, True):
            try:
                result = (plan.T if transposed else plan) @ np.ones((100, 4))
            except spry.InvalidError:
                continue
            sums = wanted.T if transposed else wanted
            np.testing.assert_allclose(result, sums @ np.ones((100, 4)), atol=1e-9)


def test_updates_reach_all_that_share_values(rng):
    A = random_csr(rng, 30, 20)
    x, z = rng.standard_normal(20), rng.standard_normal(30)
    T = spry.plan(A).T  # the parent plan is deleted
    A.data = A.data * 3
    T.update()
    np.testing.assert_allclose(T @ z, A.T @ z, atol=1e-12)
    copied = copy.copy(spry.plan(A))
    A.data = A.data * 3
    copied.update()
    np.testing.assert_allclose(copied @ x, A @ x, atol=1e-12)


def test_updates_do_not_grow():
    A = spry.generate("laplace5", x=10, y=10)
    plan = spry.plan(A, format="csr")
    for _ in range(100):
        A.data = A.data.copy()
        plan.update()
    held = spry._core.held_bytes()
    for _ in range(1000):
        A.data = A.data.copy()
        plan.update()
    assert spry._core.held_bytes() == held


@pytest.mark.parametrize("name", ["memory_limit", "count", "expected_calls"])
def test_numbers_below_one(grid, name):
    with pytest.raises(spry.InvalidError, match=f"{name} is 0"):
        spry.plan(grid, **{name: 0})
