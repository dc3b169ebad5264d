"""Products with vectors and blocks, compared with exact sums, for matrices, vectors, strides and orders of each kind.
"""

import numpy as np
import pytest
import scipy.sparse
from bounds import assert_product, product_error
from hypothesis import given
from hypothesis import strategies as st
from matrices import LAYOUTS, dense, sparse, widen

import spry


def test_bound_rejects_a_wrong_last_digit(grid):
    x = np.linspace(1, 2, grid.shape[1])
    y = spry.plan(grid) @ x
    assert_product(y, grid, x)
    y[7] += 1e-13
    assert product_error(y, grid, x) > 1


def test_bound_rejects_a_lost_entry(grid):
    x = np.linspace(1, 2, grid.shape[1])
    y = spry.plan(grid) @ x
    grid.data[5] *= 1 + 1e-13
    assert product_error(y, grid, x) > 1


@given(st.data())
def test_matmul(data):
    A = data.draw(sparse())
    given_x, x = data.draw(dense(A.shape[1], A.dtype))
    plan = spry.plan(A)
    y = plan @ given_x
    assert y.dtype == A.dtype
    assert plan.shape == A.shape
    assert_product(y, A, x)


@given(st.data())
def test_transposed(data):
    A = data.draw(sparse())
    given_x, x = data.draw(dense(A.shape[0], A.dtype))
    assert_product(spry.plan(A).T @ given_x, A.T, x)


@given(st.data())
def test_from_the_left(data):
    A = data.draw(sparse())
    given_x, x = data.draw(dense(A.shape[0], A.dtype))
    if isinstance(given_x, list):
        given_x = np.array(given_x)
    y = given_x.T @ spry.plan(A)
    assert_product(y.T, A.T, x)


@given(st.data())
def test_run(data):
    A = data.draw(sparse())
    given_x, x = data.draw(dense(A.shape[1], A.dtype))
    before = np.random.default_rng(1).standard_normal((A.shape[0], *x.shape[1:])).astype(A.dtype)
    kinds = sorted(set(LAYOUTS) - {"read-only", "unaligned", "other byte order", "list", "matrix"})
    out = LAYOUTS[data.draw(st.sampled_from(kinds))](before.copy())
    alpha, beta = data.draw(st.sampled_from([(1, 0), (2.5, 0), (1, 1), (-0.5, 3.0), (0, 2)]))
    result = spry.plan(A).run(given_x, out, alpha=alpha, beta=beta)
    assert result is out
    assert_product(np.asarray(out), A, x, alpha, beta, before)


@given(st.data())
def test_options_of_a_plan(data):
    A = data.draw(sparse(formats=("csr", "csc", "coo")))
    options = {
        "expected_calls": data.draw(st.sampled_from([None, 1, 100])),
        "count": data.draw(st.sampled_from([None, 3])),
        "order": data.draw(st.sampled_from("CF")),
        "threads": data.draw(st.sampled_from([None, 1, 2])),
        "format": data.draw(st.sampled_from([None, "csr", "sell:c=4", "coo"])),
        "dtype": data.draw(st.sampled_from([None, "f8"])),
        "check": data.draw(st.booleans()),
    }
    if options["dtype"] and A.dtype == np.float32 and options["format"] != "csr":
        options["format"] = None  # some formats lack these products
    plan = spry.plan(A, **options)
    given_x, x = data.draw(dense(A.shape[1], plan.dtype))
    assert_product(plan @ given_x, A, x)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 1), (1, 7), (7, 1)])
@pytest.mark.parametrize("columns", [None, 0, 1, 3])
def test_thin_shapes(shape, columns):
    A = scipy.sparse.csr_array(np.ones(shape))
    x = np.ones(shape[1] if columns is None else (shape[1], columns))
    y = spry.plan(A) @ x
    assert y.shape == (A @ x).shape
    assert (y == shape[1]).all()


@pytest.mark.parametrize("shape", [
    (200_000, 3),
    (3, 200_000),
    pytest.param((3_000_000, 3), marks=pytest.mark.slow),
    pytest.param((3, 3_000_000), marks=pytest.mark.slow),
])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_huge_thin_shapes(shape, index, rng):
    i, j = rng.integers(0, shape[0], 50), rng.integers(0, shape[1], 50)
    A = scipy.sparse.coo_array((rng.standard_normal(50), (i, j)), shape=shape)
    A.coords = tuple(c.astype(index) for c in A.coords)
    for B in (A, widen(A.tocsr(), index), widen(A.tocsc(), index)):
        plan = spry.plan(B)
        x, t = rng.standard_normal(shape[1]), rng.standard_normal(shape[0])
        assert_product(plan @ x, B, x)
        assert_product(plan.T @ t, B.T, t)


def test_order_of_results(grid, rng):
    plan = spry.plan(grid)
    X = rng.standard_normal((grid.shape[1], 8))
    assert (plan @ X).flags.c_contiguous
    assert (plan @ np.asfortranarray(X)).flags.f_contiguous
    assert (plan @ X[:, :1]).shape == (grid.shape[0], 1)


def test_large_products_of_threads_and_blocks(rng):
    """Products large enough to release Python's lock."""
    A = spry.generate("rmat", scale=13)
    plan = spry.plan(A)
    for x in (rng.standard_normal(A.shape[1]), rng.standard_normal((A.shape[1], 8))):
        assert_product(plan @ x, A, x)
        assert_product(plan.T @ x, A.T, x)


def test_same_bits_for_any_number_of_threads(rng, all_threads):
    A = spry.generate("grid5", x=300, y=300)
    plan, x = spry.plan(A), rng.standard_normal(A.shape[1])
    results = []
    for threads in (1, 2, None):
        spry.set_num_threads(threads)
        results.append((plan @ x).tobytes())
    assert len(set(results)) == 1


def test_narrow_integers_and_booleans_are_taken(grid):
    plan = spry.plan(grid)
    x = np.arange(grid.shape[1]) % 2
    for kind in ("i1", "u2", "i8", "?", "f4"):
        assert_product(plan @ x.astype(kind), grid, x.astype(float))


def test_y_is_not_read_where_beta_is_zero(grid):
    out = np.full(grid.shape[0], np.nan)
    spry.plan(grid).run(np.ones(grid.shape[1]), out)
    assert np.isfinite(out).all()


def test_a_megabyte_of_columns(grid, rng):
    X = rng.standard_normal((grid.shape[1], 300))
    assert_product(spry.plan(grid) @ X, grid, X)
