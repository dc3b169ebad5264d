"""Arrays in GPU memory, from CuPy, PyTorch and other packages. Skipped without a GPU."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from bounds import assert_product
from matrices import random_csr, widen

import spry

if not any(d["kind"] == "cuda" and d["available"] for d in spry.devices()):
    pytest.skip("the library has no GPU here", allow_module_level=True)


class WithCuPy:
    def __init__(self):
        self.module = pytest.importorskip("cupy")
        self.formats = ("csr", "csc", "coo")

    def array(self, x, order=None):
        return self.module.array(x, order=order)

    def sparse(self, A, name="csr"):
        import cupyx.scipy.sparse

        return getattr(cupyx.scipy.sparse, f"{name}_matrix")(A.asformat(name))

    def numpy(self, y):
        assert isinstance(y, self.module.ndarray)
        return self.module.asnumpy(y)

    def scipy(self, A):
        return A.get()

    def values(self, A):
        return A.data

    def stream(self):
        return self.module.cuda.Stream(non_blocking=True)

    def address(self, x):
        return x.data.ptr

    def synchronize(self):
        self.module.cuda.Device().synchronize()

    def busy(self, x):
        """Queues work of some milliseconds in the current stream, then returns x."""
        big = self.module.ones((4000, 4000), np.float32)
        for _ in range(20):
            big = big @ big * 0
        return x + big[0, 0].astype(x.dtype)


class WithTorch:
    def __init__(self):
        self.module = pytest.importorskip("torch")
        self.formats = ("csr", "csc", "coo")

    def array(self, x, order=None):
        x = np.asarray(x)
        if order == "F" and x.ndim == 2:
            return self.module.tensor(np.ascontiguousarray(x.T)).cuda().T
        return self.module.tensor(np.ascontiguousarray(x)).cuda()

    def sparse(self, A, name="csr"):
        torch, A = self.module, A.asformat(name)
        values = torch.tensor(A.data)
        if name == "coo":
            return torch.sparse_coo_tensor(torch.tensor(np.array([A.row, A.col])), values, A.shape).cuda()
        make = torch.sparse_csr_tensor if name == "csr" else torch.sparse_csc_tensor
        return make(torch.tensor(A.indptr), torch.tensor(A.indices), values, A.shape).cuda()

    def numpy(self, y):
        assert self.module.is_tensor(y) and y.is_cuda
        return y.cpu().numpy()

    def scipy(self, A):
        parts = [part.cpu().numpy() for part in (A.values(), A.col_indices(), A.crow_indices())]
        return scipy.sparse.csr_array(tuple(parts), shape=tuple(A.shape))

    def values(self, A):
        return A.values()

    def stream(self):
        return self.module.cuda.stream(self.module.cuda.Stream())

    def address(self, x):
        return x.data_ptr()

    def synchronize(self):
        self.module.cuda.synchronize()

    def busy(self, x):
        big = self.module.ones((4000, 4000), device="cuda")
        for _ in range(20):
            big = big @ big * 0
        return x + big[0, 0].to(x.dtype)


@pytest.fixture(scope="module", params=[WithCuPy, WithTorch])
def gpu(request):
    return request.param()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
def test_products(gpu, rng, name, dtype):
    A = random_csr(rng, 300, 200).astype(dtype)
    plan = spry.plan(gpu.sparse(A, name))
    assert plan.shape == (300, 200)
    assert plan.info.device.startswith("cuda")
    for columns in ((), (1,), (5,)):
        for order in ("C", "F"):
            x, z = (rng.standard_normal((n, *columns)).astype(dtype) for n in (200, 300))
            assert_product(gpu.numpy(plan @ gpu.array(x, order)), A, x)
            assert_product(gpu.numpy(plan.T @ gpu.array(z, order)), A.T, z)
    z = rng.standard_normal(300).astype(dtype)
    assert_product(gpu.numpy(gpu.array(z) @ plan), A.T, z)


def test_run(gpu, rng):
    A = random_csr(rng, 300, 200)
    plan = spry.plan(gpu.sparse(A))
    x, y = rng.standard_normal(200), rng.standard_normal(300)
    given, out = gpu.array(x), gpu.array(y)
    assert plan.run(given, out) is out
    assert_product(gpu.numpy(out), A, x)
    before = gpu.numpy(out)
    plan.run(given, out, alpha=-2.0, beta=0.5)
    np.testing.assert_allclose(gpu.numpy(out), 0.5 * before - 2 * (A @ x), atol=1e-13)
    wide = gpu.array(np.zeros((300, 6)))
    strided = wide[:, ::2]
    X = rng.standard_normal((200, 3))
    assert plan.run(gpu.array(X), strided) is strided
    assert_product(gpu.numpy(strided.copy() if hasattr(strided, "copy") else strided.contiguous()), A, X)
    assert not gpu.numpy(wide[:, 1]).any()


def test_strides(gpu, rng):
    A = random_csr(rng, 300, 200)
    plan = spry.plan(gpu.sparse(A))
    x = rng.standard_normal(400)
    assert_product(gpu.numpy(plan @ gpu.array(x)[::2]), A, x[::2])
    X = rng.standard_normal((200, 8))
    for part in (np.s_[:, 2:5], np.s_[:, ::2], np.s_[:, :1], np.s_[:, :0]):
        y = gpu.numpy(plan @ gpu.array(X)[part])
        assert y.shape == (300, X[part].shape[1])
        if y.size:
            assert_product(y, A, X[part])


def test_types(gpu, rng):
    A = random_csr(rng, 300, 200).astype(np.float32)
    x = rng.standard_normal(200)
    plan = spry.plan(gpu.sparse(A), dtype=float)
    assert_product(gpu.numpy(plan @ gpu.array(x)), A.astype(float), x)
    narrow = x.astype(np.float32)
    assert_product(gpu.numpy(plan @ gpu.array(narrow)), A.astype(float), narrow.astype(float))
    with pytest.raises(TypeError, match="float64"):
        spry.plan(gpu.sparse(A)) @ gpu.array(x)


def test_sizes_and_places(gpu, rng):
    A = random_csr(rng, 300, 200)
    plan = spry.plan(gpu.sparse(A))
    with pytest.raises(ValueError, match=r"x has shape \(199,\), expected \(200,\)"):
        plan @ gpu.array(np.zeros(199))
    with pytest.raises(ValueError, match="out has shape"):
        plan.run(gpu.array(np.zeros(200)), gpu.array(np.zeros(299)))
    with pytest.raises(TypeError, match="out"):
        plan.run(gpu.array(np.zeros(200)), np.zeros(300))
    with pytest.raises(ValueError, match="overlap"):
        square = spry.plan(gpu.sparse(random_csr(rng, 200, 200)))
        x = gpu.array(np.zeros(200))
        square.run(x, x)
    with pytest.raises(spry.Error, match="device"):
        plan @ np.zeros(200)
    with pytest.raises(spry.Error, match="vector_device"):
        spry.plan(A) @ gpu.array(np.zeros(200))


def test_a_matrix_in_host_memory_on_the_gpu(gpu, rng):
    A = random_csr(rng, 300, 200)
    x = rng.standard_normal(200)
    assert_product(spry.plan(A, device="cuda") @ x, A, x)
    assert_product(spry.plan(widen(A.copy(), np.int64), device="cuda") @ x, A, x)
    plan = spry.plan(A, device="cuda", vector_device="cuda")
    assert_product(gpu.numpy(plan @ gpu.array(x)), A, x)


def test_the_structure_is_checked(gpu, rng):
    A = random_csr(rng, 300, 200)
    bad = A.copy()
    bad.indices[17] = 200
    with pytest.raises(ValueError) as on_gpu:
        spry.plan(gpu.sparse(bad))
    with pytest.raises(ValueError) as on_host:
        spry.plan(bad)
    assert str(on_gpu.value) == str(on_host.value)
    falling = A.copy()
    falling.indptr[100], falling.indptr[101] = falling.indptr[101] + 1, falling.indptr[100]
    with pytest.raises(ValueError, match="offset|row"):
        spry.plan(gpu.sparse(falling))


def test_the_present_stream(gpu, rng):
    A = random_csr(rng, 3000, 3000, 0.01)
    matrix = gpu.sparse(A)
    x = rng.standard_normal(3000)
    given = gpu.array(x)
    gpu.synchronize()
    for _ in range(3):
        with gpu.stream():
            plan = spry.plan(matrix)
            y = plan @ gpu.busy(given)
            np.testing.assert_allclose(gpu.numpy(y), A @ x, atol=1e-11)
            assert_product(gpu.numpy(spry.plan(matrix).T @ gpu.busy(given)), A.T, x)


def test_streams_side_by_side(gpu, rng):
    """A plan with a workspace has a separate workspace for each stream."""
    A = random_csr(rng, 3000, 3000, 0.01)
    x = gpu.array(rng.standard_normal(3000))
    plan = spry.plan(gpu.sparse(A), ordering="rcm")
    expected = gpu.numpy(plan @ x)
    streams, results = [gpu.stream() for _ in range(4)], []
    for _ in range(20):
        for stream in streams:
            with stream:
                results.append(plan @ x)
    gpu.synchronize()
    for y in results:
        np.testing.assert_array_equal(gpu.numpy(y), expected)


def test_update(gpu, rng):
    A = random_csr(rng, 300, 200)
    x = rng.standard_normal(200)
    for format in ("csr", "sell", None):
        matrix = gpu.sparse(A)
        plan = spry.plan(matrix, format=format)
        values = rng.standard_normal(A.nnz)
        B = A.copy()
        B.data = values
        plan.update(gpu.array(values))
        assert_product(gpu.numpy(plan @ gpu.array(x)), B, x)
        plan.update(values * 2)
        assert_product(gpu.numpy(plan @ gpu.array(x)), B * 2, x)


def test_spgemm(gpu, rng):
    A, B = random_csr(rng, 300, 200), random_csr(rng, 200, 250)
    C = spry.spgemm(gpu.sparse(A), gpu.sparse(B))
    assert C.shape == (300, 250)
    np.testing.assert_allclose(gpu.scipy(C).toarray(), (A @ B).toarray(), atol=1e-12)
    D = spry.spgemm(C, gpu.sparse(random_csr(rng, 250, 10)))  # a result as an operand
    assert D.shape == (300, 10)
    x = rng.standard_normal(250)
    np.testing.assert_allclose(gpu.numpy(spry.plan(C) @ gpu.array(x)), A @ (B @ x), atol=1e-11)
    for name in gpu.formats:
        mixed = spry.spgemm(gpu.sparse(A, name), gpu.sparse(B, name))
        np.testing.assert_allclose(gpu.scipy(mixed).toarray(), (A @ B).toarray(), atol=1e-12)
    with pytest.raises(TypeError, match="different"):
        spry.spgemm(gpu.sparse(A), B)


def test_spgemm_plan(gpu, rng):
    A = random_csr(rng, 300, 300)
    matrix = gpu.sparse(A)
    plan = spry.spgemm_plan(matrix, matrix)
    np.testing.assert_allclose(gpu.scipy(plan.run()).toarray(), (A @ A).toarray(), atol=1e-12)
    values = rng.standard_normal(A.nnz)
    plan.update(gpu.array(values))
    A.data = values
    C = plan.run()
    del plan, matrix
    np.testing.assert_allclose(gpu.scipy(C).toarray(), (A @ A).toarray(), atol=1e-12)


def test_results_outlive_what_made_them(gpu, rng):
    A = random_csr(rng, 300, 300)
    C = spry.spgemm(gpu.sparse(A), gpu.sparse(A))
    values = gpu.values(C)
    del C
    for _ in range(5):
        spry.spgemm(gpu.sparse(A), gpu.sparse(A))
    np.testing.assert_allclose(gpu.numpy(values), (A @ A).sorted_indices().data, atol=1e-12)


def test_cg(gpu, grid, rng):
    x = rng.standard_normal((400, 3))
    b = grid @ x
    matrix = gpu.sparse(grid)
    for columns in (0, np.s_[:]):
        for order in ("C", "F"):
            right = gpu.array(b[:, columns], order)
            solved, info = spry.cg(matrix, right, rtol=1e-12)
            assert info == 0
            np.testing.assert_allclose(gpu.numpy(solved), x[:, columns], atol=1e-8)
    right = gpu.array(b[:, 0])
    assert spry.cg(matrix, right, M="jacobi")[1] == 0
    solved, info, result = spry.cg(matrix, right, x0=gpu.array(x[:, 0]), full_output=True)
    assert result.iterations <= 1
    np.testing.assert_array_equal(gpu.numpy(right), b[:, 0])
    assert spry.cg(gpu.sparse(grid, "csc"), right, rtol=1e-12)[1] == 0
    from_host, info = spry.cg(grid, b[:, 0], rtol=1e-12, device="cuda")
    np.testing.assert_allclose(from_host, x[:, 0], atol=1e-8)


def test_pagerank(gpu, rng):
    A = abs(random_csr(rng, 300, 300))
    expected, _ = spry.pagerank(A, tol=1e-12)
    for name in gpu.formats:
        ranks, info = spry.pagerank(gpu.sparse(A, name), tol=1e-12)
        assert info == 0
        np.testing.assert_allclose(gpu.numpy(ranks), expected, atol=1e-11)
    v = rng.random(300)
    expected, _ = spry.pagerank(A, tol=1e-12, personalization=v)
    ranks, _ = spry.pagerank(gpu.sparse(A), tol=1e-12, personalization=gpu.array(v), x0=gpu.array(v))
    np.testing.assert_allclose(gpu.numpy(ranks), expected, atol=1e-11)


def test_pickle(gpu, rng):
    A = random_csr(rng, 300, 200)
    x = rng.standard_normal(200)
    plan = pickle.loads(pickle.dumps(spry.plan(gpu.sparse(A))))
    assert_product(gpu.numpy(plan @ gpu.array(x)), A, x)


def test_empty(gpu):
    for shape in ((0, 5), (5, 0), (3, 3)):
        matrix = gpu.sparse(scipy.sparse.csr_array(shape))
        y = gpu.numpy(spry.plan(matrix) @ gpu.array(np.ones(shape[1])))
        np.testing.assert_array_equal(y, np.zeros(shape[0]))
    empty = gpu.sparse(scipy.sparse.csr_array((3, 3)))
    assert gpu.scipy(spry.spgemm(empty, empty)).nnz == 0


def test_nothing_is_copied():
    """A plan in csr owns no values or indices, and a product allocates only its result."""
    cupy = pytest.importorskip("cupy")

    class Count(cupy.cuda.MemoryHook):
        name = "count"
        allocated = 0

        def malloc_preprocess(self, **what):
            self.allocated += what["size"]

    matrix = WithCuPy().sparse(spry.generate("laplace5", x=300, y=300))
    x = cupy.ones(90_000)
    y = cupy.empty_like(x)
    with Count() as hook:
        plan = spry.plan(matrix, format="csr")
        assert hook.allocated == 0
        plan.run(x, y)
        plan.run(x, y, alpha=2.0, beta=1.0)
        assert hook.allocated == 0
        plan @ x
        assert x.nbytes <= hook.allocated <= x.nbytes + 512
    assert plan.info.values_in_place
    assert plan.info.owned_bytes < matrix.data.nbytes // 10
    assert plan.info.upload_us == 0
    matrix.data *= 2
    cupy.testing.assert_allclose(plan @ x, matrix @ x)


def test_results_of_spgemm_are_the_librarys_memory():
    cupy = pytest.importorskip("cupy")
    matrix = WithCuPy().sparse(spry.generate("laplace5", x=300, y=300))
    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    C = spry.spgemm(matrix, matrix)
    assert pool.used_bytes() - before < C.data.nbytes // 100


def test_a_product_in_a_graph(rng):
    cupy = pytest.importorskip("cupy")
    A = random_csr(rng, 300, 200)
    plan = spry.plan(WithCuPy().sparse(A))
    x, y = cupy.asarray(rng.standard_normal(200)), cupy.zeros(300)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        plan.run(x, y)
        graph = stream.end_capture()
        x[:] = 1
        graph.launch(stream)
        stream.synchronize()
    assert_product(cupy.asnumpy(y), A, np.ones(200))


def test_gradients_are_refused(rng):
    torch = pytest.importorskip("torch")
    plan = spry.plan(WithTorch().sparse(random_csr(rng, 30, 20)))
    with pytest.raises(TypeError, match=r"gradients.*detach"):
        plan @ torch.ones(20, dtype=torch.float64, device="cuda", requires_grad=True)


def test_arrays_of_others(rng):
    numba_cuda = pytest.importorskip("numba.cuda")
    cupy = pytest.importorskip("cupy")
    A = random_csr(rng, 300, 200)
    x = rng.standard_normal(200)
    plan = spry.plan(WithCuPy().sparse(A))
    y = plan @ numba_cuda.to_device(x)
    assert isinstance(y, cupy.ndarray)
    assert_product(cupy.asnumpy(y), A, x)


def test_arrays_of_jax(rng):
    jax = pytest.importorskip("jax")
    pytest.importorskip("cupy")
    A = random_csr(rng, 300, 200).astype(np.float32)
    x = rng.standard_normal(200).astype(np.float32)
    plan = spry.plan(WithCuPy().sparse(A))
    y = plan @ jax.numpy.asarray(x)
    assert isinstance(y, jax.Array)
    assert_product(np.asarray(y), A, x)
