"""Compares results with extended-precision sums, entry by entry, under the error bounds of spry.h."""

import numpy as np


def _wide(A):
    """Returns rows, columns and values of all stored entries, including duplicates."""
    A = A.tocoo()
    return A.row, A.col, A.data.astype(np.longdouble)


def product_error(y, A, x, alpha=1.0, beta=0.0, before=None):
    """Returns the largest |computed - exact| / bound. Values up to 1 satisfy the bound of spry_spmv_plan_create."""
    rows, cols, values = _wide(A)
    x = np.asarray(x).astype(np.longdouble)
    shape = (A.shape[0], *x.shape[1:])
    exact, size = np.zeros(shape, np.longdouble), np.zeros(shape, np.longdouble)
    factors = values if x.ndim == 1 else values[:, None]
    np.add.at(exact, rows, factors * x[cols])
    np.add.at(size, rows, np.abs(factors * x[cols]))
    exact, size = np.longdouble(alpha) * exact, abs(np.longdouble(alpha)) * size
    if beta != 0:
        exact = exact + np.longdouble(beta) * before.astype(np.longdouble)
        size = size + np.abs(np.longdouble(beta) * before.astype(np.longdouble))
    entries = np.bincount(rows, minlength=A.shape[0]).astype(np.longdouble)
    entries = entries if x.ndim == 1 else entries[:, None]
    limits = np.finfo(y.dtype)
    bound = (entries + 3) * (limits.eps * size + (1 + abs(alpha)) * limits.smallest_subnormal)
    assert y.shape == exact.shape
    return float((np.abs(y - exact) / bound).max(initial=0))


def assert_product(y, A, x, alpha=1.0, beta=0.0, before=None):
    assert product_error(y, A, x, alpha, beta, before) <= 1


def spgemm_error(C, A, B):
    """Returns the largest |computed - exact| / bound of C = A @ B, under the bound of spry_spgemm. For small matrices,
    because sums are dense."""
    rows, middle, a = _wide(A)
    row_of_b, columns, b = _wide(B)
    order = np.argsort(row_of_b, kind="stable")
    columns, b = columns[order], b[order]
    starts = np.searchsorted(row_of_b[order], np.arange(B.shape[0] + 1))
    counts = np.diff(starts)[middle]  # entries of B that each entry of A multiplies
    left = np.repeat(np.arange(len(a)), counts)
    right = np.arange(len(left)) + np.repeat(starts[middle] - np.cumsum(counts) + counts, counts)
    products = a[left] * b[right]
    exact, size, met = (np.zeros((A.shape[0], B.shape[1]), np.longdouble) for _ in range(3))
    for target, terms in ((exact, products), (size, np.abs(products)), (met, 1)):
        np.add.at(target, (rows[left], columns[right]), terms)
    assert C.shape == exact.shape
    C.check_format(full_check=True)
    eps = np.finfo(C.dtype).eps
    bound = (met + 3) * eps * size
    difference = np.abs(C.toarray() - exact)
    assert not ((met == 0) & (C.toarray() != 0)).any()
    return float(np.divide(difference, bound, out=np.zeros_like(bound), where=difference > 0).max(initial=0))
