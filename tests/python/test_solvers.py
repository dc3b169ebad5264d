"""Conjugate Gradient and PageRank, called like SciPy's solvers."""

import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import spry


def residual(A, b, x):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


@pytest.mark.parametrize("dtype, rtol", [("f8", 1e-10), ("f4", 1e-3)])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_cg(grid, rng, dtype, rtol, kind):
    A, b = grid.astype(dtype).asformat(kind), rng.standard_normal(grid.shape[0]).astype(dtype)
    x, info = spry.cg(A, b, rtol=rtol)
    assert info == 0 and x.dtype == dtype
    assert residual(grid, b.astype(float), x.astype(float)) <= 1.01 * rtol


@pytest.mark.parametrize("M", ["jacobi", "block-jacobi", "chebyshev"])
def test_cg_with_preconditioners_by_name(grid, rng, M):
    A = grid.copy()
    scale = scipy.sparse.diags_array(10.0 ** rng.uniform(-1, 1, A.shape[0]))
    A, b = (scale @ A @ scale).tocsr(), rng.standard_normal(A.shape[0])
    x, info, result = spry.cg(A, b, M=M, rtol=1e-10, max_iterations=5000, full_output=True)
    assert info == 0 and residual(A, b, x) <= 1.01e-10
    assert result.iterations < spry.cg(A, b, rtol=1e-10, max_iterations=5000, full_output=True)[2].iterations


def test_cg_with_scipys_arguments(grid, rng):
    b = rng.standard_normal(grid.shape[0])
    seen = []
    D = scipy.sparse.diags_array(1 / grid.diagonal())
    x, info = spry.cg(grid, b, rtol=1e-8, M=D, callback=lambda xk: seen.append(residual(grid, b, xk)))
    assert info == 0 and len(seen) > 3 and seen[-1] <= 1.01e-8 < seen[-2]
    x, info = spry.cg(spry.plan(grid), b, rtol=1e-8)
    assert info == 0 and residual(grid, b, x) <= 1.01e-8
    with pytest.raises(spry.InvalidError, match="full_output"):
        spry.cg(grid, b, M=D, full_output=True)


def test_cg_stops_where_scipy_does(grid, rng):
    b = rng.standard_normal(grid.shape[0])
    assert np.linalg.norm(b - grid @ spry.cg(grid, b, rtol=0, atol=1e-6)[0]) <= 1.01e-6
    x, info = spry.cg(grid, b, rtol=1e-12, max_iterations=3)
    assert info == 3 and residual(grid, b, x) > 1e-12
    exact = scipy.sparse.linalg.spsolve(grid.tocsc(), b)
    x, info, result = spry.cg(grid, b, exact, rtol=1e-8, full_output=True)
    assert info == 0 and result.iterations == 0
    assert spry.cg(grid, np.zeros_like(b))[0].max() == 0


def test_cg_leaves_the_first_guess_as_it_is(grid, rng):
    guess, b = np.ones(grid.shape[0]), rng.standard_normal(grid.shape[0])
    spry.cg(grid, b, guess)
    assert (guess == 1).all()


@pytest.mark.parametrize("k", [1, 3])
def test_cg_of_several_systems(grid, rng, k):
    B = rng.standard_normal((grid.shape[0], k))
    X, info = spry.cg(grid, B, rtol=1e-9)
    assert info == 0 and X.shape == B.shape
    assert max(residual(grid, B[:, c], X[:, c]) for c in range(k)) <= 1.01e-9
    assert spry.cg(grid, B[:, :0])[0].shape == (grid.shape[0], 0)


def test_cg_refuses(grid):
    n = grid.shape[0]
    skewed = grid.tolil()
    skewed[0, 1] = 7
    cases = [
        (skewed.tocsr(), np.ones(n), {}, spry.InvalidError, "symmetric"),
        (grid, np.ones(3), {}, spry.InvalidError, r"b has shape \(3,\), expected \(400,\)"),
        (grid, np.ones(n), {"x0": np.ones((n, 1))}, spry.InvalidError, "x0 has shape"),
        (grid, np.ones(n, complex), {}, TypeError, "b holds complex128, expected real numbers"),
        (grid, np.ones(n), {"M": "ilu"}, spry.InvalidError, "M is 'ilu', expected one of None, 'jacobi'"),
        (grid[:5], np.ones(5), {}, spry.InvalidError, "A is 5 x 400, expected a square matrix"),
        (grid.toarray(), np.ones(n), {}, TypeError, "numpy.ndarray"),
    ]
    for A, b, options, error, message in cases:
        with pytest.raises(error, match=message):
            spry.cg(A, b, **options)


def test_cg_of_an_indefinite_matrix_breaks_down():
    A = scipy.sparse.diags_array([1.0, -1.0, 2.0]).tocsr()
    x, info, result = spry.cg(A, np.ones(3), full_output=True)
    assert info == -1 and result.verdict == "negative curvature" and result.message


# ---- PageRank ----


def step(A, x, alpha, v):
    """One step of PageRank, by SciPy."""
    sums = A.sum(axis=1)
    share = np.divide(x, sums, out=np.zeros_like(x), where=sums > 0)
    return alpha * (A.T @ share + x[sums == 0].sum() * v) + (1 - alpha) * v


@pytest.fixture
def graph():
    return spry.generate("rmat", scale=9)


@pytest.mark.parametrize("alpha", [0.5, 0.85])
@pytest.mark.parametrize("personalized", [False, True])
def test_pagerank_is_a_fixed_point(graph, rng, alpha, personalized):
    n = graph.shape[0]
    v = rng.random(n) if personalized else np.ones(n)
    x, info, result = spry.pagerank(graph, alpha, tol=1e-12, personalization=v if personalized else None,
                                    full_output=True)
    assert info == 0 and abs(x.sum() - 1) < 1e-12
    assert (graph.sum(axis=1) == 0).any()  # some nodes have no links
    assert np.abs(step(graph, x, alpha, v / v.sum()) - x).sum() <= 2e-12
    assert result.error_bound <= 1e-11


def test_pagerank_seen_from_some_nodes(graph):
    n = graph.shape[0]
    for given, weights in ((5, {5: 1}), (np.int32(5), {5: 1}), ({5: 2, np.int64(7): 0.5}, {5: 2, 7: 0.5})):
        v = np.zeros(n)
        for node, weight in weights.items():
            v[node] = weight
        expected, _ = spry.pagerank(graph, personalization=v)
        assert (spry.pagerank(graph, personalization=given)[0] == expected).all()
    cases = [
        (n, spry.InvalidError, f"personalization names node {n}, expected nodes from 0 to {n - 1}"),
        (-1, spry.InvalidError, "personalization names node -1"),
        ({"a": 1}, spry.InvalidError, "personalization names node 'a'"),
        ({0: "x"}, TypeError, "personalization has weight 'x' for node 0, expected a number"),
        ({}, spry.InvalidError, "personalization sum to 0"),
        (np.ones(n, object), TypeError, "personalization holds object, expected real numbers"),
        (np.ones(n) * 1j, TypeError, "personalization holds complex128, expected real numbers"),
    ]
    for given, error, message in cases:
        with pytest.raises(error, match=message):
            spry.pagerank(graph, personalization=given)


def test_scipy_iterates_by_its_older_name_of_rtol(grid, monkeypatch):
    cg = scipy.sparse.linalg.cg

    def older(A, b, x0=None, *, tol=1e-5, maxiter=None, M=None, callback=None, atol=0.0):  # before SciPy 1.12
        return cg(A, b, x0, rtol=tol, maxiter=maxiter, M=M, callback=callback, atol=atol)

    monkeypatch.setattr(scipy.sparse.linalg, "cg", older)
    b = np.ones(grid.shape[0])
    x, info = spry.cg(grid, b, rtol=1e-8, callback=lambda x: None)
    assert info == 0 and np.linalg.norm(b - grid @ x) <= 1.01e-8 * np.linalg.norm(b)


def test_pagerank_of_other_forms(graph):
    ranks, _ = spry.pagerank(graph)
    other, _ = spry.pagerank(graph.T, edges="column_to_row")
    assert np.abs(ranks - other).max() < 1e-8
    single, info = spry.pagerank(graph.astype("f4"))
    assert single.dtype == np.float32 and info == 0 and np.abs(single - ranks).max() < 1e-5
    again, _, result = spry.pagerank(graph, x0=ranks, full_output=True)
    assert result.iterations <= 2
    assert spry.pagerank(graph, dangling="drop")[0].sum() < 1


def test_pagerank_tells_of_too_few_iterations(graph):
    x, info = spry.pagerank(graph, tol=1e-14, max_iterations=3)
    assert info == 3 and x.sum() > 0.99


def test_pagerank_refuses(graph):
    n = graph.shape[0]
    cases = [
        ({"alpha": 1.5}, "alpha is 1.5, expected a number between 0 and 1"),
        ({"edges": "both"}, "edges is 'both', expected one of 'row-to-column'"),
        ({"norm": 3}, "norm is 3"),
        ({"dangling": "refuse"}, "column|row|node"),
        ({"personalization": np.ones(3)}, "personalization has shape"),
        ({"personalization": -np.ones(n)}, "-1"),
    ]
    for options, message in cases:
        with pytest.raises(spry.InvalidError, match=message):
            spry.pagerank(graph, **options)
    graph.data[3] = -1
    with pytest.raises(spry.InvalidError, match="-1"):
        spry.pagerank(graph)


def test_cg_plan(grid, rng):
    plan = spry.cg_plan(grid, M="jacobi", count=3)
    assert plan.shape == (400, 400) and plan.dtype == np.float64
    for b in (rng.standard_normal(400), rng.standard_normal((400, 3))):
        x, info, result = plan.solve(b, rtol=1e-10, full_output=True)
        assert info == 0 and result.verdict == "converged"
        again, _ = spry.cg(grid, b, M="jacobi", rtol=1e-10)
        np.testing.assert_array_equal(x, again)
        assert plan.solve(b, x0=x, full_output=True)[2].iterations <= 1
    with pytest.raises(ValueError, match="b has shape"):
        plan.solve(np.ones(3))
    with pytest.raises(ValueError, match="max_iterations"):
        plan.solve(np.ones(400), max_iterations=0)


def test_precision(grid, rng):
    b = rng.standard_normal(400)
    for precision in ("full", "f32:f64", "f32"):
        x, info, result = spry.cg(grid, b, rtol=1e-12, precision=precision, full_output=True)
        assert info == 0 and result.true_residual <= 1e-12
        assert (result.replacements > 0) == (precision == "f32")
        np.testing.assert_array_equal(spry.cg_plan(grid, precision=precision).solve(b, rtol=1e-12)[0], x)
    with pytest.raises(spry.InvalidError, match="precision is 'same', expected one of 'full', 'f32:f64', 'f32'"):
        spry.cg(grid, b, precision="same")


def test_names_may_have_underscores(grid, rng):
    b = rng.standard_normal(400)
    np.testing.assert_array_equal(spry.cg(grid, b, M="block_jacobi")[0], spry.cg(grid, b, M="block-jacobi")[0])
    ranks = [spry.pagerank(abs(grid), edges=edges)[0] for edges in ("column_to_row", "column-to-row")]
    np.testing.assert_array_equal(*ranks)


def test_cg_plan_of_new_values(grid, rng):
    b = rng.standard_normal(400)
    plan = spry.cg_plan(grid)
    grid.data *= 2
    plan.update()
    np.testing.assert_allclose(grid @ plan.solve(b, rtol=1e-10)[0], b, atol=1e-8)
    kept = grid.data.copy()
    plan.update(kept * 3)
    np.testing.assert_array_equal(grid.data, kept)
    np.testing.assert_allclose(3 * (grid @ plan.solve(b, rtol=1e-10)[0]), b, atol=1e-8)
    values = grid.data.copy()
    values[1] += 1
    with pytest.raises(spry.InvalidError, match="symmetric"):
        plan.update(values)
    with pytest.raises(spry.Error):
        plan.solve(b)
    values[1] -= 1
    plan.update(values)
    assert plan.solve(b)[1] == 0


def test_cg_plan_sees_another_array_of_values(grid, rng):
    b = rng.standard_normal(400)
    plan = spry.cg_plan(grid)
    for _ in range(2):
        grid.data = grid.data * 2
        plan.update()
        np.testing.assert_allclose(grid @ plan.solve(b, rtol=1e-10)[0], b, atol=1e-8)
    with pytest.raises(TypeError, match="values is a matrix"):
        plan.update(grid)
    grid.data = grid.data[:-1]
    with pytest.raises(spry.InvalidError, match="values has shape"):
        plan.update()
    converted = spry.cg_plan(spry.generate("laplace5", x=4, y=4).tobsr((2, 2)))
    with pytest.raises(spry.InvalidError, match="a copy of a bsr matrix"):
        converted.update()


def test_cg_plan_of_read_only_values(grid, rng, tmp_path):
    spry.mmwrite(tmp_path / "grid.spry", grid)
    A, b = spry.mmread(tmp_path / "grid.spry"), rng.standard_normal(400)
    assert not A.data.flags.writeable
    plan, kept = spry.cg_plan(A, M="jacobi"), A.data
    for factor in (2, 3):
        A.data = kept * factor
        plan.update()
        np.testing.assert_allclose(factor * (grid @ plan.solve(b, rtol=1e-10)[0]), b, atol=1e-8)
    np.testing.assert_array_equal(kept, grid.data)


def test_cg_takes_what_is_symmetric_up_to_rounding(rng):
    G = scipy.sparse.random_array((60, 30), density=0.2, format="csr", rng=rng)
    A = (G.T @ scipy.sparse.diags_array(rng.random(60)) @ G + scipy.sparse.eye_array(30)).tocsr()
    b = np.ones(30)
    x, info = spry.cg(A, b, rtol=1e-12)
    assert info == 0
    np.testing.assert_allclose(A @ x, b, atol=1e-9)
    A.data[A.indptr[3]] *= 1 + 1e-9
    for call in (lambda **options: spry.cg(A, b, **options), lambda **options: spry.cg_plan(A, **options).solve(b)):
        with pytest.raises(spry.InvalidError, match="symmetry_tol allows larger differences, symmetric=True skips"):
            call()
        assert call(symmetry_tol=1e9)[1] == call(symmetric=True)[1] == 0
        with pytest.raises(spry.InvalidError, match="symmetry_tol is -1"):
            call(symmetry_tol=-1)
    A.data[0] = np.nan
    with pytest.raises(spry.InvalidError, match="not finite: the entry of A at .* is nan"):
        spry.cg(A, b)


def test_cg_plan_refuses(grid):
    with pytest.raises(spry.InvalidError, match="symmetric"):
        spry.cg_plan(scipy.sparse.csr_array(np.triu(np.ones((3, 3)))))
    with pytest.raises(spry.InvalidError, match="M is"):
        spry.cg_plan(grid, M="ilu")
    with pytest.raises(spry.InvalidError, match="square"):
        spry.cg_plan(scipy.sparse.csr_array((3, 4)))


def test_cg_plan_pickles(grid):
    plan = pickle.loads(pickle.dumps(spry.cg_plan(grid, M="jacobi")))
    assert plan.solve(np.ones(400))[1] == 0


def test_pagerank_counts_links_by_integers():
    links = scipy.sparse.csr_array(np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [1, 0, 1, 0]]))
    np.testing.assert_array_equal(spry.pagerank(links)[0], spry.pagerank(links.astype(float))[0])
