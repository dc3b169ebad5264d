"""Products of two sparse matrices."""

import numpy as np

from . import _core
from ._arrays import common_home, csr_of, later_values, origin_of, same_values, source_of, write_values
from ._errors import InvalidError
from ._homes import CSR, device_number
from ._numbers import whole
from ._plan import Info
from ._threads import attended, checked

# Least number of entries for which Ctrl-C must interrupt a product.
_LONG = 200_000


def spgemm(A, B, *, memory_limit=None, threads=None, transpose_a=False, transpose_b=False, alpha=1.0, drop_zeros=False,
           device=None, kernel=None, check=True, full_output=False):
    """Computes alpha * A @ B for sparse matrices, m x l and l x n.

    Parameters
    ----------
    A, B : csr, csc, coo of scipy.sparse, array or matrix; of cupyx.scipy.sparse or PyTorch
        As for spry.plan, both of one library. If one is float32 and the other float64, the float32 values are
        converted. On a GPU, formats other than csr are converted, and transpose_a and transpose_b are not supported.
    memory_limit : int, optional
        Maximum number of bytes of operands, result and workspace together, 1 or more; None: no limit.
    threads : int, optional
        Maximum number of threads; None: all. The result has the same bits for any number of threads.
    transpose_a, transpose_b : bool
        Multiplies A.T or B.T instead.
    drop_zeros : bool
        True: drops computed entries that are 0. False: C has all positions of the product of the structures.
    check : bool
        Checks every offset and index of A and B first.
    full_output : bool
        Returns (C, info). info has the product's memory (..._bytes) and times (..._us).

    Returns
    -------
    csr_array, or csr_matrix if A and B are matrices; of CuPy or PyTorch if A and B are
        Rows are sorted, with each position once. The library's arrays are used without a copy.

    Raises
    ------
    TypeError, InvalidError
        As for spry.plan; also if sizes do not match.
    Error
        The product exceeds memory_limit. `value` is the number of bytes needed.
    """
    a, b = _sources(A, B)
    left, right = _matrices(a, b, check)
    options = _options(memory_limit, threads, transpose_a, transpose_b, alpha, device, kernel)
    options.update(drop_zeros=bool(drop_zeros), stream=a.home.stream())
    matrix, info = attended(_core.spgemm, left, right, options, entries=a.nnz + b.nnz, home=a.home, least=_LONG)
    C = csr_of(matrix, common_home(a, b), canonical=True)
    return (C, Info(info)) if full_output else C


def _sources(A, B):
    a = source_of(A, "A", as_csr=True)
    b = a if B is A else source_of(B, "B", as_csr=True)
    common_home(a, b)
    return same_values(a, b)


def _matrices(a, b, check):
    left = a.matrix(check=check)
    return left, left if b is a else b.matrix(check=check)


def _options(memory_limit, threads, transpose_a, transpose_b, alpha, device, kernel):
    options = {
        "alpha": float(alpha),
        "op_a": int(bool(transpose_a)),
        "op_b": int(bool(transpose_b)),
        "threads": checked(threads) or None,
        "memory_limit_bytes": whole(memory_limit, "memory_limit"),
        "kernel": kernel,
        "device": device_number(device),
    }
    return {name: value for name, value in options.items() if value is not None}


def _with_own(source, values, name):
    """Copies values to an array that the plan owns. Returns a source with that array, which may be `source`."""
    own = source if source.owns_values else source.with_own_values()
    write_values(own, values, name)
    return own


def spgemm_plan(A, B, *, memory_limit=None, threads=None, transpose_a=False, transpose_b=False, alpha=1.0, device=None,
                kernel=None, check=True) -> "SpgemmPlan":
    """Creates a plan for a product that is repeated with new values. C's structure is computed once.

    The plan borrows A's and B's arrays. Their structure must not change during its lifetime. Converted matrices (other
    formats than csr, csc and coo; float32 with float64) are copies, which only update() changes. The plan reads the
    arrays that A and B had when it was created: call update() after A.data is replaced by another array, and from then
    on after each change. Parameters as for spry.spgemm.
    """
    a, b = _sources(A, B)
    options = _options(memory_limit, threads, transpose_a, transpose_b, alpha, device, kernel)
    made = SpgemmPlan(a, b, options, check)
    made._origins = origin_of(A, a), origin_of(B, b)
    return made


class SpgemmPlan:
    """A repeated product C = alpha * A @ B; spry.spgemm_plan creates one. Only one thread at a time may run it."""

    _origins = None, None  # the caller's A and B, to see whether their arrays of values were replaced

    def __init__(self, a, b, options, check=False):
        self._a, self._b, self._options = a, b, options
        self._home = common_home(a, b)
        self._create(check)

    def _create(self, check=False):
        a, b = self._a, self._b
        options = {**self._options, "stream": self._home.stream()}
        self._plan = attended(_core.SpgemmPlan, *_matrices(a, b, check), options, entries=a.nnz + b.nnz,
                              home=self._home, least=_LONG)
        rows, cols, self.nnz, indptr, indices, dtype = self._plan.structure()
        self._indptr, self._indices = self._home.taken(indptr), self._home.taken(indices)
        self.shape = (rows, cols)
        self.dtype = np.dtype(dtype)

    def run(self, out=None):
        """Computes C from the current values of A and B, as a csr_array (csr_matrix if A and B are matrices).

        Parameters
        ----------
        out : array of nnz entries, optional
            Array for C's values; None: a new array. indptr and indices belong to the plan, are read-only and shared by
            all results.

        Raises
        ------
        InvalidError
            out has another size or type, or is an array of A or B.
        """
        home = self._home
        values = home.empty(self.nnz, self.dtype) if out is None else out
        if isinstance(values, np.ndarray) and any(np.may_share_memory(values, s.values) for s in (self._a, self._b)):
            raise InvalidError("out shares memory with values of A or B, expected an array of its own")
        self._plan.run(home.shown(values), home.stream())
        return home.compressed(CSR, self.shape, values, self._indices, self._indptr, sorted_and_unique=True)

    def update(self, a=None, b=None) -> None:
        """Takes over new values. Does not change A.data and B.data.

        Parameters
        ----------
        a, b : array of as many values as A and B have, optional
            New values. If both are None, takes A.data and B.data if they were replaced by other arrays. Values are
            copied to arrays that the plan owns. The first update creates these arrays and builds the plan again.

        Raises
        ------
        InvalidError
            Values have another shape; or a and b are None and A or B was converted, so the plan has a copy.
        TypeError
            a or b is a matrix, or the plan's type cannot represent the values exactly.
        """
        if a is None and b is None:
            a, b = (later_values(*of) for of in zip((self._a, self._b), self._origins, ("a=values", "b=values"),
                                                    strict=True))
        left, right = self._a, self._b
        if a is not None:
            left = _with_own(left, a, "a")
            right = left if self._b is self._a else right
        if b is not None:
            right = _with_own(right, b, "b")
            left = right if self._b is self._a else left
        if left is not self._a or right is not self._b:
            self._a, self._b = left, right
            self._create()

    @property
    def info(self) -> Info:
        """The library's report on the plan and its last run: bytes (..._bytes), times (..._us)."""
        return Info(self._plan.info())

    def __repr__(self):
        m, n = self.shape
        return f"<spry.SpgemmPlan of {m} x {n}, {self.nnz} entries, {self.dtype}>"

    def __reduce__(self):
        return SpgemmPlan, (self._a, self._b, self._options)
