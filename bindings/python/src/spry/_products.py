"""Sparse times sparse."""

import numpy as np

from . import _core
from ._arrays import common_home, csr_of, later_values, origin_of, same_values, source_of, write_values
from ._errors import InvalidError
from ._homes import CSR, device_number
from ._numbers import whole
from ._plan import Info
from ._threads import attended, checked

# Entries from which a product may last so long that Ctrl-C should be seen meanwhile.
_LONG = 200_000


def spgemm(A, B, *, memory_limit=None, threads=None, transpose_a=False, transpose_b=False, alpha=1.0, drop_zeros=False,
           device=None, kernel=None, check=True, full_output=False):
    """alpha * A @ B for matrices of scipy.sparse, m x l and l x n.

    Parameters
    ----------
    A, B : csr, csc, coo of scipy.sparse, array or matrix; of cupyx.scipy.sparse or PyTorch
        As for spry.plan, both of one library. Where one holds float32 and the other float64, the first is converted.
        On a GPU what is no csr is converted, too, and nothing is transposed.
    memory_limit : int, optional
        The most bytes that operands, result and workspace may take together, 1 or more; None: no limit.
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
    csr_array, or csr_matrix where A and B are of the older kind; of CuPy or PyTorch where A and B are
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
    """The source with the values in an array of the plan's own: itself, or another one."""
    own = source if source.owns_values else source.with_own_values()
    write_values(own, values, name)
    return own


def spgemm_plan(A, B, *, memory_limit=None, threads=None, transpose_a=False, transpose_b=False, alpha=1.0, device=None,
                kernel=None, check=True) -> "SpgemmPlan":
    """A product that is repeated with new values in the same structures: C's structure is found once.

    The plan borrows A's and B's arrays, which keep their structure while it lives. Of what is converted (formats but
    csr, csc and coo; float32 beside float64) it has a copy, which update() changes alone. It reads the arrays that A
    and B had then: say update() after another array took A.data's place,
    and from then on after each change. Parameters as of spry.spgemm.
    """
    a, b = _sources(A, B)
    options = _options(memory_limit, threads, transpose_a, transpose_b, alpha, device, kernel)
    made = SpgemmPlan(a, b, options, check)
    made._origins = origin_of(A, a), origin_of(B, b)
    return made


class SpgemmPlan:
    """C = alpha * A @ B, again and again; spry.spgemm_plan makes one. One thread at a time runs it."""

    _origins = None, None  # what A and B were, whose arrays of values may be others by now

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
        home = self._home
        values = home.empty(self.nnz, self.dtype) if out is None else out
        if isinstance(values, np.ndarray) and any(np.may_share_memory(values, s.values) for s in (self._a, self._b)):
            raise InvalidError("out is an array of A or B, which the product reads")
        self._plan.run(home.shown(values), home.stream())
        return home.compressed(CSR, self.shape, values, self._indices, self._indptr, sorted_and_unique=True)

    def update(self, a=None, b=None) -> None:
        """Takes new values. A.data and B.data do not change.

        Parameters
        ----------
        a, b : array of as many values as A and B have, optional
            No matrices. Where neither is given, the values are those of A.data and B.data, where these are other arrays
            by now. Values of another array than the plan reads are copied: the first such update creates the plan anew
            with an array of its own, into which later ones copy.

        Raises
        ------
        InvalidError
            Values of another shape; neither is given, and A or B was converted: the plan has a copy of it.
        TypeError
            Matrices in the place of their values, or values that the plan's type does not hold exactly.
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
        """What the library tells of the plan and of its last run: bytes (..._bytes), times (..._us)."""
        return Info(self._plan.info())

    def __repr__(self):
        m, n = self.shape
        return f"<spry.SpgemmPlan of {m} x {n}, {self.nnz} entries, {self.dtype}>"

    def __reduce__(self):
        return SpgemmPlan, (self._a, self._b, self._options)
