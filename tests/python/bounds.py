"""Comparators: results against sums of extended precision, entry by entry, under the bounds that spry.h states."""

import numpy as np


def _wide(A):
    """Rows, columns and values of all stored entries; duplicates stay."""
    A = A.tocoo()
    return A.row, A.col, A.data.astype(np.longdouble)


def product_error(y, A, x, alpha=1.0, beta=0.0, before=None):
    """The largest |computed - exact| over its bound; up to 1 keeps the promise of spry_spmv_plan_create."""
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
    """The same of C = A @ B under the bound of spry_spgemm, position by position. Small matrices: they become dense."""
    a, b = (_dense_sums(M) for M in (A, B))
    exact = a[0] @ b[0]
    size = a[1] @ b[1]
    products = a[2] @ b[2]  # that meet in a position, duplicates counted
    assert C.shape == exact.shape
    C.check_format(full_check=True)
    eps = np.finfo(C.dtype).eps
    bound = (products + 3) * eps * size
    difference = np.abs(C.toarray() - exact)
    assert not ((products == 0) & (C.toarray() != 0)).any()
    return float(np.divide(difference, bound, out=np.zeros_like(bound), where=difference > 0).max(initial=0))


def _dense_sums(M):
    rows, cols, values = _wide(M)
    sums = [np.zeros(M.shape, np.longdouble) for _ in range(3)]
    for target, numbers in zip(sums, (values, np.abs(values), np.ones_like(values)), strict=True):
        np.add.at(target, (rows, cols), numbers)
    return sums
