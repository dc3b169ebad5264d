"""PyTorch tensors in host memory, which share memory with NumPy arrays."""

import numpy as np
import pytest
from bounds import assert_product
from matrices import random_csr

import spry

torch = pytest.importorskip("torch")


def tensor_of(A, name="csr"):
    A = A.asformat(name)
    if name == "coo":
        return torch.sparse_coo_tensor(torch.tensor(np.array([A.row, A.col])), torch.tensor(A.data), A.shape)
    make = torch.sparse_csr_tensor if name == "csr" else torch.sparse_csc_tensor
    return make(torch.tensor(A.indptr), torch.tensor(A.indices), torch.tensor(A.data), A.shape)


@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
def test_products(rng, name):
    A = random_csr(rng, 300, 200)
    plan = spry.plan(tensor_of(A, name))
    for shape in ((200,), (200, 3)):
        x = rng.standard_normal(shape)
        y = plan @ torch.tensor(x)
        assert torch.is_tensor(y)
        assert_product(y.numpy(), A, x)
        assert_product(plan @ x, A, x)  # a NumPy x gives a NumPy result
    z = torch.tensor(rng.standard_normal(300))
    assert_product((plan.T @ z).numpy(), A.T, z.numpy())
    assert_product((z @ plan).numpy(), A.T, z.numpy())


def test_run(rng):
    A = random_csr(rng, 300, 200)
    plan = spry.plan(A)
    x, out = torch.tensor(rng.standard_normal(200)), torch.zeros(300, dtype=torch.float64)
    assert plan.run(x, out) is out
    assert_product(out.numpy(), A, x.numpy())
    with pytest.raises(TypeError, match="out"):
        plan.run(x, np.zeros(300))


def test_values_are_seen(rng):
    A = random_csr(rng, 300, 200)
    matrix = tensor_of(A)
    plan = spry.plan(matrix, format="csr")
    matrix.values().mul_(2)
    x = rng.standard_normal(200)
    plan.update()
    assert_product(plan @ x, A * 2, x)
    plan.update(torch.tensor(A.data))
    assert_product(plan @ x, A, x)


def test_other_calls(rng, grid):
    A = random_csr(rng, 300, 300)
    C = spry.spgemm(tensor_of(A), tensor_of(A))
    np.testing.assert_allclose(C.to_dense().numpy(), (A @ A).toarray(), atol=1e-12)
    b = torch.ones(400, dtype=torch.float64)
    x, info = spry.cg(tensor_of(grid), b, rtol=1e-10)
    assert info == 0 and torch.is_tensor(x)
    np.testing.assert_allclose(grid @ x.numpy(), np.ones(400), atol=1e-8)
    ranks, info = spry.pagerank(tensor_of(abs(A)))
    assert info == 0 and torch.is_tensor(ranks)


def test_refused(rng):
    A = random_csr(rng, 30, 20)
    with pytest.raises(TypeError, match="dense"):
        spry.plan(torch.ones(3, 3))
    with pytest.raises(TypeError, match="gradients"):
        spry.plan(A) @ torch.ones(20, dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError, match="two"):
        spry.spgemm(tensor_of(A), A.T)
    with pytest.raises(TypeError, match="float16|half"):
        spry.plan(tensor_of(A).to(torch.float16))
