"""spry.patch_scipy: SciPy's own products of csr matrices through Spry, while a with block lasts.

SciPy's A @ x, A @ X and A @ B all end in three private methods, which are replaced. Since they are private, versions
are named here that the tests have run with, and others are refused.

Nothing is remembered between products: each one looks at A's arrays as they are then, so that values and structure may
change in place at any time. That costs what a conversion to a faster format would gain in many products: a plan does
that. What Spry does not take goes to SciPy's own code: other formats, other types of numbers, x of another type than A,
indices in an order that no matrix has.
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

# Entries of A, once for each column of x, below which SciPy's own code is done before Spry's has begun.
LEAST_ENTRIES = 65536

# What SciPy does with entries that come out as 0.
_AS_SCIPY = {"drop_zeros": True}

_lock = threading.Lock()
_depth = 0
_originals: dict[str, object] = {}
_least = LEAST_ENTRIES


def patch_scipy(*, least_entries=LEAST_ENTRIES):
    """Within the with block, products of csr matrices of scipy.sparse are Spry's, in all threads.

    A @ x, A @ X of dense X and A @ B of sparse B, A.dot and what SciPy's solvers make of them, for csr_array and
    csr_matrix with float64 or float32 values, from least_entries on, each counted once for each column of x. A.T @ x,
    of csc, stays SciPy's. Of vectors the gain is that of more threads than one; a plan gains more.

    Results have SciPy's classes and types. Rows of A @ B come sorted. Sums are added up in another order than SciPy's,
    so that last bits differ.

    Raises
    ------
    Error
        This version of SciPy was not tried. Tried are those that spry._patch.TESTED names.
    TypeError, InvalidError
        least_entries is no whole number; it is below 0.
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
    """A as the library takes it; None: it does not."""
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
    return np.ascontiguousarray(result)  # which SciPy's is


def _sparse(self, other):
    if self.format == "csr" and self.ndim == other.ndim == 2 and other.dtype == self.data.dtype:
        left, right = _matrix(self), _matrix(self.__class__(other))
        if left is not None and right is not None:
            C = csr_of(_core.spgemm(left, right, _AS_SCIPY)[0])
            if C.nnz > 0:  # else SciPy makes a matrix of its own, with other types of indices
                result = self.__class__((C.data, C.indices, C.indptr), shape=C.shape)
                result.has_canonical_format = True
                return result
    return _originals["_matmul_sparse"](self, other)
