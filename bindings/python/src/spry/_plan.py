"""spry.plan: a matrix made ready for products. What is called often, @ and run, stands in the extension."""

import weakref

import numpy as np

from . import _core
from ._arrays import Source, later_values, origin_of, refuse_matrix, source_for, type_of
from ._errors import InvalidError
from ._homes import adopt, device_number, give_back, home_of
from ._numbers import whole
from ._threads import attended, checked

_TRANSPOSED = 1  # spry_op
_NUMBERS = {"f32": np.float32, "f64": np.float64}

# Entries from which planning may last so long that Ctrl-C should be seen meanwhile.
_LONG = 2_000_000
# What SciPy's expm_multiply and others need, which know an operator by its class.
_OPERATOR = "scipy.sparse.linalg.aslinearoperator(plan) has them; expm_multiply takes it, with traceA=A.trace()"


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
        lines = [self.reason, "", f"{'format':<12}{'product':>12}{'set-up':>12}{'break-even':>12}"]
        for c in self.candidates:
            name = c["format"] + (f" ({c['kernel']})" if c["kernel"] else "")
            if c["refused"]:
                lines.append(f"{name:<12}  {c['refused']}")
                continue
            calls = "never" if c["break_even_calls"] < 0 else c["break_even_calls"]
            lines.append(f"{name:<12}{c['predicted_us']:>9.1f} us{c['setup_us']:>9.1f} us{calls:>12}")
        lines += ["", f"Predicted for {self.device_class}, {self.fitted}."]
        return "\n".join(lines)


def plan(A, *, expected_calls=None, format=None, device=None, threads=None, check=True, dtype=None, count=None,
         order="C", kernel=None, ordering=None, expected_updates=None, memory_limit=None, policy=None,
         vector_device=None) -> "Plan":
    """Makes the m x n matrix A ready for products.

    The plan borrows A's arrays and keeps them alive. While it lives the structure of A (indptr, indices, row, col) must
    not change; after a change of A.data say plan.update().

    Parameters
    ----------
    A : csr, csc, coo of scipy.sparse, array or matrix; csr, csc of cupyx.scipy.sparse or PyTorch
        float64 or float32, indices of 32 or 64 bits. Rows need not be sorted, entries at one position count as their
        sum. Other formats, bsr among them, are converted by their tocsr(), a copy.
    expected_calls : int, optional
        Products expected, against which the set-up is weighed; None: many.
    format : str, optional
        A format of the library, as "csr" or "sell:c=16"; None: its choice, which plan.info.reason tells.
    device : str, optional
        "cpu", "cuda", "cuda:1", of spry.devices(); None: where A is.
    threads : int, optional
        Threads that a product may use; None: as many as there are. Small products use fewer.
    check : bool
        Looks at every offset and index first, at the speed of memory. Without it, arrays that are no matrix crash.
    dtype : float32 or float64, optional
        Of vectors; None: A's. float32 values multiply float64 vectors, too.
    count : int, optional
        Vectors that most products will multiply together, as the columns of a block.
    order : "C" or "F"
        The layout of these blocks: row by row, as NumPy has them, or column by column.
    kernel, ordering, policy : str, optional
        As in spry_spmv_options of the C header: "csr_avx2_cpu"; "rcm"; "measure".
    expected_updates : int, optional
        Updates of values expected; None: none.
    memory_limit : int, optional
        The most bytes that the plan may own, 1 or more; None: no limit.
    vector_device : str, optional
        Where vectors will be, "cpu" or the plan's GPU; None: where A is. Vectors in host memory are copied to a GPU
        and back in each product.

    Raises
    ------
    TypeError
        A is no matrix of these libraries, or holds other numbers.
    InvalidError
        A's arrays are no matrix; an unknown name.
    OutOfMemoryError, Error
        No memory; over memory_limit, not supported.
    """
    source = source_for(A, device)
    vectors = type_of(source.dtype if dtype is None else dtype)
    if order not in ("C", "F"):
        raise InvalidError(f'order is {order!r}, expected "C" or "F"')
    count = whole(count, "count")
    options = {
        "format": format,
        "kernel": kernel,
        "ordering": ordering,
        "policy": policy,
        "vector_type": vectors,
        "expected_calls": whole(expected_calls, "expected_calls"),
        "expected_updates": whole(expected_updates, "expected_updates", least=0),
        "memory_limit_bytes": whole(memory_limit, "memory_limit"),
        "count": count,
        "row_major": True if order == "C" and count is not None and count > 1 else None,
        "device": device_number(device),
        "vector_device": device_number(vector_device, "vector_device"),
        "op": _TRANSPOSED if source.transposed else None,
    }
    options = {name: value for name, value in options.items() if value is not None}
    made = Plan._make(source, options, checked(threads), check)
    made._origin = origin_of(A, source)
    return made


class Plan(_core.Plan):
    """A matrix made ready for products; spry.plan makes one.

    plan @ x multiplies with a vector or a block of columns, x @ plan with the transpose. Several threads may multiply
    at once. Plans are pickled by their arrays and options, and planned anew. Of results of 1 MB and more a plan keeps
    the memory of the last two, which serves again when nobody refers to them any more.
    """

    __array_ufunc__ = None  # so that x @ plan, of an array x, comes here
    ndim = 2
    _source: Source
    _options: dict
    _threads: int
    _transposed: "Plan | None"
    _parent: "weakref.ref[Plan] | None"
    _origin: "weakref.ref | None" = None  # what the plan was made of, whose array of values may be another by now
    _check: bool
    _number: np.dtype
    _vector_device: int  # 0: host memory
    _workspaces: dict  # of streams: (address, bytes, what keeps it alive), 0 for the plan's own

    @classmethod
    def _make(cls, source: Source, options: dict, threads: int, check=False, parent=None):
        matrix = source.matrix(threads, check=check)
        plan = attended(cls, matrix, options, threads, source.home.stream(), check, entries=source.nnz,
                        home=source.home, least=_LONG)
        plan._check = check
        plan._vector_device = max(options.get("vector_device", source.home.device), 0)
        plan._workspaces = {}
        plan._number = np.dtype(_NUMBERS[options["vector_type"]])
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
        return self._number

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
            self._transposed = Plan._make(self._source, options, self._threads, self._check, parent=self)
            self._transposed._origin = self._origin
        return self._transposed

    # ---- values that change ----

    def update(self, values=None) -> None:
        """For new values in the same structure, also in plan.T.

        Parameters
        ----------
        values : array of nnz entries, optional
            No matrix. In the order of A.data, whose place this array takes from then on; None: A.data, whose numbers
            have changed in place, or which is another array by now. Where info.values_in_place is true the plan sees a
            change in place without an update.

        Raises
        ------
        InvalidError
            Of a matrix that was converted: the plan has no arrays of it that may have changed.
        TypeError
            values is a matrix, or holds numbers that A's type does not hold exactly.
        Error
            Another thread uses the plan.
        """
        source, matrix = self._source, None
        original = self._parent() if self._parent is not None else None
        plans = [plan for plan in (self, self._transposed, original) if plan is not None]
        if values is None:
            later = (later_values(plan._source, self._origin) for plan in plans)
            values = next((found for found in later if found is not None), None)
        if values is not None:
            source = source.with_values(_values_like(source, values))
            matrix = source.matrix(self._threads)
        stream = source.home.stream()
        for plan in plans:
            plan._update(matrix, stream)
            plan._source = source
            plan._workspaces.clear()

    # ---- vectors in a GPU's memory ----

    def _multiply_on_gpu(self, home, x, out, alpha, beta):
        if home.device != self._vector_device:
            there = "host memory" if self._vector_device == 0 else f"the memory of device {self._vector_device}"
            raise InvalidError(f"x is in the memory of device {home.device}, the plan's vectors are in {there}: "
                               'spry.plan(A, device="cuda", vector_device="cuda") makes a plan for such vectors')
        m, n = self.shape
        dtype = self._number
        dimensions = len(home.shape(x))
        x, x_view = home.vector(x, dtype, n, "x")
        if out is None:
            if beta:
                raise InvalidError("beta is not 0, so that out is to be given")
            y, y_view = home.result(x_view, dimensions, m, dtype)
        else:
            y, y_view = home.target(out, dimensions, x_view, m, dtype)
        if x_view[2] > 0:
            stream = home.stream()
            key = (stream, x_view[3] != 1 or y_view[3] != 1)
            address, size, _ = self._workspaces.get(key) or self._new_workspace(home, key)
            self._start(y_view, x_view, alpha, beta, stream, address, size)
        if out is None or y is out:
            return y
        home.copy_into(out, y)
        return out

    def _new_workspace(self, home, key):
        """The first stream has the plan's own; products in others may overlap with it."""
        made = (0, 0, None)
        if any(by_rows == key[1] for _, by_rows in self._workspaces):
            info = self._info(key[1]) or self._info(False)
            if info["workspace_bytes"] > 0:
                memory = home.zeros(info["workspace_bytes"])
                made = (home.address(memory), info["workspace_bytes"], memory)
        self._workspaces[key] = made
        return made

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

    @property
    def trace(self):
        """Not there: SciPy's functions look for it where they take a plan for an array."""
        raise AttributeError(f"a plan has no trace: {_OPERATOR}", name="trace", obj=self)

    def __add__(self, other):
        raise TypeError(f"a plan has no sums and differences: {_OPERATOR}")

    __sub__ = __radd__ = __rsub__ = __add__

    def __array__(self, *args, **kwargs):
        raise TypeError("a plan is no array: plan @ numpy.eye(n) has the entries of its matrix")

    # ---- pickling, copying ----

    def __reduce__(self):
        return Plan._make, (self._source, self._options, self._threads, self._check)

    def __copy__(self):
        made = Plan._make(self._source, self._options, self._threads, self._check)
        made._origin = self._origin
        return made


def _values_like(source: Source, values):
    """As an array of the source's home, a copy where it is in another memory."""
    refuse_matrix(values)
    home, wanted = source.home, source.dtype
    array = home.from_any(values)
    found, shape = home.dtype(array), tuple(home.shape(array))
    if shape not in ((source.nnz,), tuple(home.shape(source.values))):
        raise InvalidError(f"values has shape {shape}, expected ({source.nnz},)")
    if found != wanted and not np.can_cast(found, wanted, "safe"):
        raise TypeError(f"values holds {found}, expected {wanted}")
    return home.columns(array, wanted, copy=False)


def multiply_foreign(plan, x, out=None, alpha=None, beta=None):
    """plan.run(x, out, alpha, beta) with an x that is none of NumPy's, for the extension."""
    home = home_of(x)
    if home is None:
        y = plan.run(adopt(x, "x"), out, alpha, beta)
        return out if out is not None else give_back(x, y)
    if home.device:
        return plan._multiply_on_gpu(home, x, out, alpha, beta)
    home.check(x, "x")
    if out is not None and home_of(out) is not home:
        raise TypeError(f"out is {type(out).__module__}.{type(out).__qualname__}, expected a tensor as x is")
    y = plan.run(home.shown(x), None if out is None else home.shown(out), alpha, beta)
    return home.taken(y) if out is None else out


def multiply_left(left, plan):
    """left @ plan, for the extension."""
    if hasattr(left, "tocsr"):
        raise TypeError(f"the left side is sparse, {type(left).__name__}: spry.spgemm multiplies sparse matrices")
    array = left if hasattr(left, "__dlpack__") else np.asarray(left)
    if len(array.shape) in (1, 2) and array.shape[-1] != plan.shape[0]:
        m = plan.shape[0]
        raise InvalidError(f"the left side has shape {tuple(array.shape)}, expected ({m},) or (k, {m})")
    return plan.T @ array if len(array.shape) == 1 else (plan.T @ array.T).T
