"""Sparse times sparse."""

import numpy as np

from . import _core
from ._arrays import CSR, compressed, csr_of, same_values, source_of
from ._plan import Info
from ._threads import checked, interruptible

# Entries from which a product may last so long that Ctrl-C should be seen meanwhile.
_LONG = 200_000


def spgemm(A, B, *, memory_limit=None, threads=None, transpose_a=False, transpose_b=False, alpha=1.0, drop_zeros=False,
           device=None, kernel=None, check=True, full_output=False):
    """alpha * A @ B for matrices of scipy.sparse, m x l and l x n.

    Parameters
    ----------
    A, B : csr, csc, coo of scipy.sparse, array or matrix
        As for spry.plan. Where one holds float32 and the other float64, the first is converted.
    memory_limit : int, optional
        The most bytes that operands, result and workspace may take together.
    threads : int, optional
        At most so many; None: as many as there are. The result is the same bits for any number.
    transpose_a, transpose_b : bool
        Takes A.T, B.T.
    drop_zeros : bool
        Leaves entries out that come to 0. Without it C has all positions of the product of the structures.
    check : bool
        Looks at every offset and index of A and B first.
    full_output : bool
        Gives (C, info) with what the product took: bytes (..._bytes) and times (..._us).

    Returns
    -------
    csr_array, or csr_matrix where A and B are of the older kind
        Rows sorted, each position once. Its arrays are the library's, which are not copied.

    Raises
    ------
    TypeError, InvalidError
        As spry.plan; sizes that do not fit.
    Error
        The product would pass memory_limit, with the bytes needed in `value`.
    """
    a, b = _sources(A, B)
    left, right = _matrices(a, b, check)
    options = _options(memory_limit, threads, transpose_a, transpose_b, alpha, device, kernel)
    options["drop_zeros"] = bool(drop_zeros)
    multiply = _core.spgemm if a.nnz + b.nnz < _LONG else _interruptible_spgemm
    matrix, info = multiply(left, right, options)
    C = csr_of(matrix, a.is_array or b.is_array)
    C.has_canonical_format = True
    return (C, Info(info)) if full_output else C


def _interruptible_spgemm(*args):
    return interruptible(_core.spgemm, *args)


def _sources(A, B):
    a = source_of(A, "A")
    return (a, a) if B is A else same_values(a, source_of(B, "B"))


def _matrices(a, b, check):
    left = a.matrix(check=check)
    return left, left if b is a else b.matrix(check=check)


def _options(memory_limit, threads, transpose_a, transpose_b, alpha, device, kernel):
    options = {
        "alpha": float(alpha),
        "op_a": int(bool(transpose_a)),
        "op_b": int(bool(transpose_b)),
        "threads": checked(threads) or None,
        "memory_limit_bytes": memory_limit,
        "kernel": kernel,
        "device": None if device is None else _core.device_number(device),
    }
    return {name: value for name, value in options.items() if value is not None}


def spgemm_plan(A, B, *, memory_limit=None, threads=None, transpose_a=False, transpose_b=False, alpha=1.0, device=None,
                kernel=None, check=True) -> "SpgemmPlan":
    """A product that is repeated with new values in the same structures: C's structure is found once.

    The plan borrows A's and B's arrays, which keep their structure while it lives. Of what is converted (formats but
    csr, csc and coo; float32 beside float64) it has a copy, which update() changes alone. Parameters as of spry.spgemm.
    """
    a, b = _sources(A, B)
    options = _options(memory_limit, threads, transpose_a, transpose_b, alpha, device, kernel)
    return SpgemmPlan(a, b, options, check)


class SpgemmPlan:
    """C = alpha * A @ B, again and again; spry.spgemm_plan makes one. One thread at a time runs it."""

    def __init__(self, a, b, options, check=False):
        self._a, self._b, self._options = a, b, options
        self._plan = _core.SpgemmPlan(*_matrices(a, b, check), options)
        rows, cols, self.nnz, self._indptr, self._indices, dtype = self._plan.structure()
        self.shape = (rows, cols)
        self.dtype = np.dtype(dtype)

    def run(self, out=None):
        """C for the present values of A and B, as a csr_array (csr_matrix where A and B are of that kind).

        Parameters
        ----------
        out : array of nnz entries, optional
            Takes C's values; None: a new array. indptr and indices are the plan's, read-only, and those of all results.

        Raises
        ------
        InvalidError
            out is of another size or type.
        """
        values = np.empty(self.nnz, self.dtype) if out is None else out
        self._plan.run(values)
        is_array = self._a.is_array or self._b.is_array
        return compressed(CSR, self.shape, values, self._indices, self._indptr, is_array, sorted_and_unique=True)

    def update(self, a=None, b=None) -> None:
        """Writes new values into the arrays that the plan reads: A.data and B.data, which change, or copies of them."""
        for source, values in ((self._a, a), (self._b, b)):
            if values is not None:
                np.copyto(source.values[: source.nnz], values, casting="safe")

    @property
    def info(self) -> Info:
        """What the library tells of the plan and of its last run: bytes (..._bytes), times (..._us)."""
        return Info(self._plan.info())

    def __repr__(self):
        m, n = self.shape
        return f"<spry.SpgemmPlan of {m} x {n}, {self.nnz} entries, {self.dtype}>"

    def __reduce__(self):
        return SpgemmPlan, (self._a, self._b, self._options)
