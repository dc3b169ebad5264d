"""Strategies of hypothesis: matrices and vectors of each kind that SciPy and NumPy have."""

import warnings

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil")


def random_csr(rng, rows, cols, density=0.1):
    entries = rng.standard_normal((rows, cols)) * (rng.random((rows, cols)) < density)
    return scipy.sparse.csr_array(entries)


def coo(draw, rows, cols, dtype):
    """Returns entries in any order, some positions multiple times. Values are small integers, or random values
    whose sums are rounded.
    """
    most = 0 if rows == 0 or cols == 0 else 3 * (rows + cols)
    count = draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    i, j = rng.integers(0, max(rows, 1), count), rng.integers(0, max(cols, 1), count)
    values = rng.choice([rng.standard_normal(count), rng.integers(-2, 3, count)]).astype(dtype)
    return scipy.sparse.coo_array((values, (i, j)), shape=(rows, cols))


def compressed(A, name):
    """Returns csr whose rows, or csc whose columns, keep the order and the duplicates of A's entries."""
    major, minor, count = (A.row, A.col, A.shape[0]) if name == "csr" else (A.col, A.row, A.shape[1])
    order = np.argsort(major, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=count))])
    arrays = (A.data[order], minor[order].astype(np.int32), offsets.astype(np.int32))
    return getattr(scipy.sparse, f"{name}_array")(arrays, shape=A.shape)


def widen(A, index):
    """Sets index arrays of the given type. SciPy's constructors would choose a type themselves."""
    for name in ("indptr", "indices"):
        if A.format in ("csr", "csc"):
            setattr(A, name, getattr(A, name).astype(index))
    if A.format == "coo":
        A.coords = tuple(c.astype(index) for c in A.coords)
    return A


@st.composite
def sparse(draw, rows=st.integers(0, 9), cols=st.integers(0, 9), formats=FORMATS, dtypes=("f8", "f4")):
    m, n = draw(rows), draw(cols)
    A = coo(draw, m, n, draw(st.sampled_from(dtypes)))
    name = draw(st.sampled_from(formats))
    if name in ("csr", "csc"):
        A = compressed(A, name)
    elif name != "coo" and m > 0 and n > 0:  # SciPy lacks some formats without rows
        A = A.tocsr().asformat(name)
    A = widen(A, draw(st.sampled_from([np.int32, np.int64])))
    if draw(st.booleans()):
        matrix = getattr(scipy.sparse, f"{A.format}_matrix")(A)
        A = widen(matrix, A.indices.dtype) if A.format in ("csr", "csc") else matrix
    return A


def _strided(x):
    return np.repeat(x, 2, axis=0)[::2]


def _negative(x):
    return x[::-1].copy()[::-1]


def _slice(x):
    """Returns a view of the columns of a wider block."""
    wide = np.full((*x.shape[:-1], x.shape[-1] + 3), np.nan, x.dtype)
    wide[..., 1:-2] = x
    return wide[..., 1:-2]


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def _unaligned(x):
    bytes_ = np.zeros(x.nbytes + 1, np.uint8)
    view = bytes_[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def _matrix(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(x) if x.ndim == 2 else x


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": _strided,
    "negative": _negative,
    "slice": _slice,
    "slice of F": lambda x: _slice(x.T).T,
    "read-only": _read_only,
    "unaligned": _unaligned,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "list": lambda x: x.tolist() if x.dtype == np.float64 and x.size else x,
    "matrix": _matrix,
}


@st.composite
def dense(draw, length, dtype):
    """Returns (x in a drawn memory layout, x as a plain array)."""
    shape = (length,) if draw(st.booleans()) else (length, draw(st.integers(0, 5)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.standard_normal(shape).astype(dtype)
    return LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](x), x
