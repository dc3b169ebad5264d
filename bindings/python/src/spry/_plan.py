"""spry.plan: matrices prepared for products. The extension has the functions that are called often, @ and run."""

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

# Least number of entries for which Ctrl-C must interrupt planning.
_LONG = 2_000_000
# Hint for SciPy functions, such as expm_multiply, that accept an operator only by its class.
_OPERATOR = "scipy.sparse.linalg.aslinearoperator(plan) has them; expm_multiply takes it, with traceA=A.trace()"


class Info(dict):
    """The library's report on a plan or a product; info["format"] is info.format."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.items())})"


class Explanation(Info):
    """Why a plan uses its format: `format`, `reason`, `candidates`, `features`. str() formats them as a table."""

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
    """Prepares the m x n matrix A for products.

    The plan borrows A's arrays and keeps them alive. During its lifetime the structure of A (indptr, indices, row, col)
    must not change. After a change of A.data call plan.update().

    Parameters
    ----------
    A : csr, csc, coo of scipy.sparse, array or matrix; csr, csc of cupyx.scipy.sparse or PyTorch
        Values are float64 or float32, indices int32 or int64. Rows may be unsorted. Entries at one position are added
        up. Other formats, such as bsr, are converted to a copy by their tocsr().
    expected_calls : int, optional
        Number of products expected, to weigh set-up time against the time of products; None: many.
    format : str, optional
        A format of the library, such as "csr" or "sell:c=16". None: automatic; plan.info.reason has the reason.
    device : str, optional
        A device of spry.devices(): "cpu", "cuda", "cuda:1". None: the device where A is.
    threads : int, optional
        Maximum number of threads per product; None: all. Small products use fewer.
    check : bool
        Checks every offset and index first, at memory speed. If False, arrays that are not a valid matrix may crash.
    dtype : float32 or float64, optional
        Type of vectors; None: A's type. A matrix of float32 can also multiply float64 vectors.
    count : int, optional
        Number of vectors that most products will multiply together, as the columns of a block.
    order : "C" or "F"
        Layout of these blocks: row-major, NumPy's default, or column-major.
    kernel, ordering, policy : str, optional
        As in spry_spmv_options of the C header, for example "csr_avx2_cpu"; "rcm"; "measure".
    expected_updates : int, optional
        Number of value updates expected; None: none.
    memory_limit : int, optional
        Maximum number of bytes that the plan may own, 1 or more; None: no limit.
    vector_device : str, optional
        Device of the vectors, "cpu" or the plan's GPU; None: the device where A is. Vectors in host memory are copied
        to a GPU and back in each product.

    Raises
    ------
    TypeError
        A is not a matrix of these libraries, or its values have another type.
    InvalidError
        A's arrays are not a valid matrix, or a name is unknown.
    OutOfMemoryError, Error
        Memory is insufficient; memory_limit is exceeded, or the combination is not supported.
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
    """A matrix prepared for products; spry.plan creates plans.

    plan @ x multiplies a vector or a block of columns; x @ plan multiplies by the transpose. Threads may multiply
    concurrently. A pickled plan stores its arrays and options and is built again on loading. A plan keeps the memory
    of its last two results of 1 MiB or more, and reuses it once nothing else refers to it.
    """

    __array_ufunc__ = None  # so that NumPy passes array @ plan to __rmatmul__
    ndim = 2
    _source: Source
    _options: dict
    _threads: int
    _transposed: "Plan | None"
    _parent: "weakref.ref[Plan] | None"
    _origin: "weakref.ref | None" = None  # the caller's matrix, to see whether its array of values was replaced
    _check: bool
    _number: np.dtype
    _vector_device: int  # 0: host memory
    _workspaces: dict  # (stream, row-major) -> (address, bytes, owner); address 0: the plan's own workspace

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

    # ---- properties ----

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n): in y = plan @ x, x has n elements and y has m."""
        return self._source.shape[::-1] if self._options.get("op") == _TRANSPOSED else self._source.shape

    @property
    def dtype(self) -> np.dtype:
        """Type of vectors."""
        return self._number

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return self._source.nnz

    @property
    def info(self) -> Info:
        """The library's report on the plan: format and its reason, kernel, bytes (..._bytes), times (..._us).

        `blocks` is the report on the plan for row-major blocks, which is built for the first such block; None before.
        """
        blocks = self._info(True)
        return Info(self._info(False) or {}, blocks=Info(blocks) if blocks is not None else None)

    def explain(self) -> Explanation:
        """Explains the choice of "auto": all formats with their predicted times. print() shows a table."""
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
        """The plan of the transpose on the same arrays, built on first use."""
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

    # ---- updates ----

    def update(self, values=None) -> None:
        """Takes over new values in the same structure, also in plan.T.

        Parameters
        ----------
        values : array of nnz entries, optional
            New values in the order of A.data. The plan borrows this array instead of A.data. None: A.data has changed
            in place or was replaced by another array. If info.values_in_place is true, the plan sees changes in place
            without an update.

        Raises
        ------
        InvalidError
            values is None and A was converted, so the plan has a copy that does not see A's changes.
        TypeError
            values is a matrix, or A's type cannot represent the values exactly.
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
                               'spry.plan(A, device="cuda", vector_device="cuda") creates a plan for such vectors')
        m, n = self.shape
        dtype = self._number
        dimensions = len(home.shape(x))
        x, x_view = home.vector(x, dtype, n, "x")
        if out is None:
            if beta:
                raise InvalidError("beta is not 0 and out is missing, expected out")
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
        """Returns a workspace for a stream: the plan's own for the first stream, new ones for other streams.

        Products in different streams may overlap.
        """
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
        """Raises AttributeError. SciPy functions that expect an array read this attribute."""
        raise AttributeError(f"a plan has no trace: {_OPERATOR}", name="trace", obj=self)

    def __add__(self, other):
        raise TypeError(f"a plan cannot be added or subtracted: {_OPERATOR}")

    __sub__ = __radd__ = __rsub__ = __add__

    def __array__(self, *args, **kwargs):
        raise TypeError("a plan is not an array: plan @ numpy.eye(n) has the entries of its matrix")

    # ---- pickling, copying ----

    def __reduce__(self):
        return Plan._make, (self._source, self._options, self._threads, self._check)

    def __copy__(self):
        made = Plan._make(self._source, self._options, self._threads, self._check)
        made._origin = self._origin
        return made


def _values_like(source: Source, values):
    """Returns values as an array of the source's home, with a copy if they are in another memory."""
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
    """Returns plan.run(x, out, alpha, beta) for an x that is not a NumPy array, for the extension."""
    home = home_of(x)
    if home is None:
        y = plan.run(adopt(x, "x"), out, alpha, beta)
        return out if out is not None else give_back(x, y)
    if home.device:
        return plan._multiply_on_gpu(home, x, out, alpha, beta)
    home.check(x, "x")
    if out is not None and home_of(out) is not home:
        raise TypeError(f"out is {type(out).__module__}.{type(out).__qualname__}, expected a tensor like x")
    y = plan.run(home.shown(x), None if out is None else home.shown(out), alpha, beta)
    return home.taken(y) if out is None else out


def multiply_left(left, plan):
    """Returns left @ plan, for the extension."""
    if hasattr(left, "tocsr"):
        raise TypeError(f"the left side is sparse, {type(left).__name__}: spry.spgemm multiplies sparse matrices")
    array = left if hasattr(left, "__dlpack__") else np.asarray(left)
    if len(array.shape) in (1, 2) and array.shape[-1] != plan.shape[0]:
        m = plan.shape[0]
        raise InvalidError(f"the left side has shape {tuple(array.shape)}, expected ({m},) or (k, {m})")
    return plan.T @ array if len(array.shape) == 1 else (plan.T @ array.T).T
