"""spry.plan: a matrix made ready for products. What is called often, @ and run, stands in the extension."""

import weakref

import numpy as np

from . import _core
from ._arrays import Source, source_of, type_of
from ._errors import InvalidError
from ._threads import checked, interruptible

_TRANSPOSED = 1  # spry_op
# Entries from which planning may last so long that Ctrl-C should be seen meanwhile.
_LONG = 2_000_000


class Info(dict):
    """What the library tells of a plan or a product; info["format"] is info.format."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.items())})"


class Explanation(Info):
    """Why a plan takes its format: `format`, `reason`, `candidates`, `features`; str() sets them out as a table."""

    def __str__(self):
        lines = [f"{self.format}: {self.reason}", "", f"{'format':<12}{'product':>12}{'set-up':>12}{'break-even':>12}"]
        for c in self.candidates:
            name = c["format"] + (f" ({c['kernel']})" if c["kernel"] else "")
            if c["refused"]:
                lines.append(f"{name:<12}  {c['refused']}")
                continue
            calls = "never" if c["break_even_calls"] < 0 else c["break_even_calls"]
            lines.append(f"{name:<12}{c['predicted_us']:>9.1f} us{c['setup_us']:>9.1f} us{calls:>12}")
        lines += ["", f"Predicted for {self.device_class}, {self.fitted}."]
        return "\n".join(lines)


def plan(A, *, expected_calls=None, format=None, device=None, threads=None, check=True, dtype=None, columns=None,
         order="C", kernel=None, ordering=None, expected_updates=None, memory_limit=None, policy=None) -> "Plan":
    """Makes the m x n matrix A ready for products.

    The plan borrows A's arrays and keeps them alive. While it lives the structure of A (indptr, indices, row, col) must
    not change; after a change of A.data say plan.update().

    Parameters
    ----------
    A : csr, csc, coo of scipy.sparse, array or matrix
        float64 or float32, indices of 32 or 64 bits. Rows need not be sorted, entries at one position count as their
        sum. Other formats of SciPy, bsr among them, are converted by their tocsr(), a copy.
    expected_calls : int, optional
        Products expected, against which the set-up is weighed; None: many.
    format : str, optional
        A format of the library, as "csr" or "sell:c=16"; None: its choice, which plan.info.reason tells.
    device : str, optional
        "cpu".
    threads : int, optional
        Threads that a product may use; None: as many as there are. Small products use fewer.
    check : bool
        Looks at every offset and index first, at the speed of memory. Without it, arrays that are no matrix crash.
    dtype : float32 or float64, optional
        Of vectors; None: A's. float32 values multiply float64 vectors, too.
    columns : int, optional
        Columns that most products will have, where these are blocks.
    order : "C" or "F"
        How blocks of so many columns lie: row by row, as NumPy has them, or column by column.
    kernel, ordering, policy : str, optional
        As in spry_spmv_options of the C header: "csr_avx2_cpu"; "rcm"; "measure".
    expected_updates : int, optional
        Updates of values expected; None: none.
    memory_limit : int, optional
        The most bytes that the plan may own.

    Raises
    ------
    TypeError
        A is no matrix of scipy.sparse, or holds other numbers.
    InvalidError
        A's arrays are no matrix; an unknown name.
    OutOfMemoryError, Error
        No memory; over memory_limit, not supported.
    """
    source = source_of(A)
    vectors = type_of(source.values.dtype if dtype is None else dtype)
    if order not in ("C", "F"):
        raise InvalidError(f'order is {order!r}, expected "C" or "F"')
    options = {
        "format": format,
        "kernel": kernel,
        "ordering": ordering,
        "policy": policy,
        "vector_type": vectors,
        "expected_calls": expected_calls,
        "expected_updates": expected_updates,
        "memory_limit_bytes": memory_limit,
        "columns": columns,
        "row_major": True if order == "C" and columns is not None and columns > 1 else None,
        "device": None if device is None else _core.device_number(device),
    }
    options = {name: value for name, value in options.items() if value is not None}
    return Plan._make(source, options, checked(threads), check)


class Plan(_core.Plan):
    """A matrix made ready for products; spry.plan makes one.

    plan @ x multiplies with a vector or a block of columns, x @ plan with the transpose. Several threads may multiply
    at once. Plans are pickled by their arrays and options, and planned anew. Of results of 32 MB and more a plan keeps
    the memory of the last two, which serves again when nobody refers to them any more.
    """

    __array_ufunc__ = None  # so that x @ plan, of an array x, comes here
    ndim = 2
    _source: Source
    _options: dict
    _threads: int
    _transposed: "Plan | None"
    _parent: "weakref.ref[Plan] | None"

    @classmethod
    def _make(cls, source: Source, options: dict, threads: int, check=False, parent=None):
        matrix = source.matrix(threads, check=check)
        make = (lambda *args: interruptible(cls, *args)) if source.nnz >= _LONG else cls
        plan = make(matrix, options, threads)
        plan._source, plan._options, plan._threads = source, options, threads
        plan._transposed = None
        plan._parent = weakref.ref(parent) if parent is not None else None
        return plan

    # ---- what it is ----

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n): plan @ x takes n entries and gives m."""
        return self._source.shape[::-1] if self._options.get("op") == _TRANSPOSED else self._source.shape

    @property
    def dtype(self) -> np.dtype:
        """Of vectors."""
        return np.dtype(np.float32 if self._options["vector_type"] == "f32" else np.float64)

    @property
    def nnz(self) -> int:
        """Entries that are stored."""
        return self._source.nnz

    @property
    def info(self) -> Info:
        """What the library tells of the plan: format and its reason, kernel, bytes (..._bytes), times (..._us).

        `blocks` is the same of the plan for blocks of columns that lie row by row, which is made when the first such
        block comes; None: there is none yet.
        """
        blocks = self._info(True)
        return Info(self._info(False) or {}, blocks=Info(blocks) if blocks is not None else None)

    def explain(self) -> Explanation:
        """Why "auto" takes the format that it takes: all formats by their predicted times. print() shows a table."""
        asked = {name: value for name, value in self._options.items() if name not in ("format", "kernel", "ordering")}
        told = _core.explain(self._source.matrix(self._threads), asked, None, self._threads)
        told["candidates"] = [Info(candidate) for candidate in told["candidates"]]
        told["features"] = [Info(feature) for feature in told["features"]]
        return Explanation(told)

    def __repr__(self):
        m, n = self.shape
        return f"<spry.Plan of {m} x {n}, {self.nnz} entries, {self.dtype}, {self.info.kernel}>"

    # ---- the transpose ----

    @property
    def T(self) -> "Plan":
        """The plan of the transpose, on the same arrays, made when it is first asked for."""
        original = self._parent() if self._parent is not None else None
        if original is not None:
            return original
        if self._transposed is None:
            options = dict(self._options)
            if options.pop("op", None) != _TRANSPOSED:
                options["op"] = _TRANSPOSED
            self._transposed = Plan._make(self._source, options, self._threads, parent=self)
        return self._transposed

    # ---- values that change ----

    def update(self, values=None) -> None:
        """For new values in the same structure, also in plan.T.

        Parameters
        ----------
        values : array of nnz entries, optional
            In the order of A.data, whose place this array takes from then on; None: the numbers in A.data have
            changed, in place. Where info.values_in_place is true the plan sees such a change without an update.

        Raises
        ------
        InvalidError
            Of a matrix that was converted: the plan has no arrays of it that may have changed.
        Error
            Another thread uses the plan.
        """
        source, matrix = self._source, None
        if values is None and source.converted_from:
            raise InvalidError(f"the plan has a copy of a {source.converted_from} matrix, which sees none of its "
                               "changes: update(values) takes the values of A.tocsr()")
        if values is not None:
            source = source.with_values(_values_like(source, values))
            matrix = source.matrix(self._threads)
        original = self._parent() if self._parent is not None else None
        for each in (self, self._transposed, original):
            if each is not None:
                each._update(matrix)
                each._source = source

    # ---- for scipy.sparse.linalg.aslinearoperator and its solvers ----

    def matvec(self, x):
        """A @ x."""
        return self @ x

    def rmatvec(self, x):
        """A.T @ x."""
        return self.T @ x

    matmat = matvec
    rmatmat = rmatvec

    def dot(self, x):
        """A @ x."""
        return self @ x

    # ---- pickling, copying ----

    def __reduce__(self):
        return Plan._make, (self._source, self._options, self._threads)


def _values_like(source: Source, values) -> np.ndarray:
    array = np.asarray(values)
    wanted = source.values.dtype
    if array.shape not in ((source.nnz,), source.values.shape):
        raise InvalidError(f"values has shape {array.shape}, expected ({source.nnz},)")
    if array.dtype != wanted and not np.can_cast(array.dtype, wanted, "safe"):
        raise TypeError(f"values holds {array.dtype}, expected {wanted}")
    return np.require(array, wanted, ("C", "A"))


def multiply_left(left, plan):
    """left @ plan, for the extension."""
    if hasattr(left, "tocsr"):
        raise TypeError(f"the left side is sparse, {type(left).__name__}: spry.spgemm multiplies sparse matrices")
    array = np.asarray(left)
    return plan.T @ array if array.ndim == 1 else (plan.T @ array.T).T
