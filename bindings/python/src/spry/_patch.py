"""spry.patch_scipy: computes SciPy's products of csr matrices with Spry inside a with block.

SciPy's A @ x, A @ X and A @ B call three private methods, which are replaced. Because they are private, TESTED lists
the versions that the tests have run with, and other versions are refused.

Nothing is kept between products. Each product reads A's current arrays, so values and structure may change in place at
any time. So no product gains from a conversion to a faster format; products of plans do. SciPy's own code computes
products that Spry does not support: other formats or types, x and A of different types, invalid index arrays.
"""

import contextlib
import threading

import numpy as np

from . import _core
from ._arrays import csr_of
from ._errors import Error
from ._homes import CSR
from ._numbers import whole

TESTED = ("1.13", "1.15", "1.17", "1.18")
_METHODS = ("_matmul_vector", "_matmul_multivector", "_matmul_sparse")

# Least number of entries of A, times columns of x, for which Spry is faster than SciPy's own code.
LEAST_ENTRIES = 65536

# SciPy drops computed entries that are 0.
_AS_SCIPY = {"drop_zeros": True}

_lock = threading.Lock()
_depth = 0
_originals: dict[str, object] = {}
_least = LEAST_ENTRIES


def patch_scipy(*, least_entries=LEAST_ENTRIES):
    """Computes products of csr matrices of scipy.sparse with Spry inside the with block, in all threads.

    Replaces A @ x, A @ X for dense X, A @ B for sparse B, and A.dot, also inside SciPy's solvers. A is a csr_array or
    csr_matrix with float64 or float32 values and at least least_entries entries, counted once for each column of x.
    A.T @ x, a product of a csc matrix, is not replaced. Products with vectors are faster only because they use more
    threads; a plan is faster still.

    Results have SciPy's classes and types. Rows of A @ B are sorted. Sums are added in another order than SciPy's, so
    last bits differ.

    Raises
    ------
    Error
        This version of SciPy is not in spry._patch.TESTED.
    TypeError, InvalidError
        least_entries is not an integer, or is negative.
    """
    if least_entries is None:
        raise TypeError("least_entries is None, expected a whole number")
    return _patched(whole(least_entries, "least_entries", least=0))


@contextlib.contextmanager
def _patched(least_entries):
    global _least
    cls = _class_to_patch()
    with _lock:
        previous, _least = _least, least_entries
        _enter(cls)
    try:
        yield
    finally:
        with _lock:
            _least = previous
            _leave(cls)


def _class_to_patch():
    import scipy
    from scipy.sparse import _compressed

    version = ".".join(scipy.__version__.split(".")[:2])
    cls = getattr(_compressed, "_cs_matrix", None)
    if version not in TESTED or not all(hasattr(cls, name) for name in _METHODS):
        raise Error(f"patch_scipy replaces private methods of SciPy {', '.join(TESTED)}; this is {scipy.__version__}. "
                    "spry.plan works with any version")
    return cls


def _enter(cls):
    global _depth
    _depth += 1
    if _depth > 1:
        return
    for name, replacement in zip(_METHODS, (_vector, _vectors, _sparse), strict=True):
        _originals[name] = cls.__dict__[name]
        setattr(cls, name, replacement)


def _leave(cls):
    global _depth
    _depth -= 1
    if _depth == 0:
        for name, original in _originals.items():
            setattr(cls, name, original)


def _matrix(A, columns=1):
    """Returns A as a library matrix; None if A is too small or not supported."""
    if A.format != "csr" or A.ndim != 2 or A.data.dtype not in (np.float64, np.float32):
        return None
    nnz = int(A.indptr[-1])
    if nnz * columns < _least:
        return None
    try:
        return _core.Matrix(CSR, *A.shape, nnz, A.indptr, A.indices, A.data)
    except (Error, TypeError, ValueError):
        return None


def _dense(self, other, original):
    columns = other.shape[1] if other.ndim == 2 else 1
    matrix = _matrix(self, columns) if other.dtype == self.data.dtype else None
    if matrix is None:
        return original(self, other)
    return _core.spmv(matrix, other, other.dtype == np.float32)


def _vector(self, other):
    return _dense(self, other, _originals["_matmul_vector"])


def _vectors(self, other):
    result = _dense(self, other, _originals["_matmul_multivector"])
    return np.ascontiguousarray(result)  # SciPy's result is contiguous


def _sparse(self, other):
    if self.format == "csr" and self.ndim == other.ndim == 2 and other.dtype == self.data.dtype:
        left, right = _matrix(self), _matrix(self.__class__(other))
        if left is not None and right is not None:
            C = csr_of(_core.spgemm(left, right, _AS_SCIPY)[0])
            if C.nnz > 0:  # SciPy computes a product without entries: its indices have other types
                result = self.__class__((C.data, C.indices, C.indptr), shape=C.shape)
                result.has_canonical_format = True
                return result
    return _originals["_matmul_sparse"](self, other)
