"""Conjugate Gradient and PageRank, in SciPy's form of calls: both give (x, info)."""

import inspect
import numbers
from collections.abc import Mapping

import numpy as np

from . import _core
from ._arrays import later_values, origin_of, source_for, write_values
from ._errors import InvalidError, in_python
from ._homes import device_number
from ._numbers import one_of, whole
from ._plan import Info, Plan
from ._threads import attended, of_call

_TOLERANCE_ZERO = -1.0  # a tolerance of 0 would be the library's default
_START_X = 2
_PRECISIONS = {"full": 0, "f32:f64": 1, "f32": 2}
_PRECONDITIONERS = {None: 0, "jacobi": 1, "block-jacobi": 2, "chebyshev": 3}
_ENDED = ("iteration limit", "stagnation")


def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, max_iterations=None, M=None, callback=None, device=None,
       threads=None, check=True, symmetry_tol=None, symmetric=False, precision="full", full_output=False):
    """Solves A @ x = b for symmetric positive definite A by Conjugate Gradients, called like scipy.sparse.linalg.cg.

    Parameters
    ----------
    A : matrix of scipy.sparse, cupyx.scipy.sparse or PyTorch, n x n, or a spry.Plan
        As for spry.plan. Symmetry is checked up to rounding.
    b : (n,), (n, 1), or (n, k) for k systems that are solved side by side
        In the memory that A is in; arrays of NumPy are copied to a GPU's.
    x0 : as b, optional
        A first guess; None: zero.
    rtol, atol : float
        It has converged when norm(b - A @ x) <= max(rtol * norm(b), atol).
    max_iterations : int, optional
        SciPy's maxiter. None: 10 n, at least 10 000 and at most 100 000.
    M : optional
        What stands for A's inverse: "jacobi", "block-jacobi", "chebyshev", or what SciPy takes.
    device : str, optional
        "cuda" solves on the GPU, from host memory, too.
    callback : function, optional
        Called as callback(x) after each iteration. With it, with an M of SciPy's or with a plan in A's place, the
        iteration is SciPy's own, which does not look whether A is symmetric, and its products are Spry's. To solve
        many times with one A, take spry.cg_plan.
    symmetry_tol : float, optional
        A is symmetric if abs(A[i, j] - A[j, i]) <= symmetry_tol * eps * max(abs(A[i, j]), abs(A[j, i]),
        sqrt(abs(A[i, i] * A[j, j]))) for all i, j, with eps = numpy.finfo(A.dtype).eps. None: 1000.
    symmetric : bool
        True: A is taken as symmetric without a check.
    precision : "full", "f32:f64" or "f32"
        Of the iteration, for float64: values of A in float32, or values and vectors. Residuals are of float64.
    full_output : bool
        Gives (x, info, result), with iterations, residuals and times (..._us). Not with SciPy's iteration.

    Returns
    -------
    x : as b
    info : int
        0: converged; above 0: iterations after which it had not; -1: broke down, A is not positive definite.

    Raises
    ------
    InvalidError
        A is not symmetric, or holds infinities or NaN; sizes that do not fit.
    TypeError
        As spry.plan.
    KeyboardInterrupt
        Some hundredths of a second after Ctrl-C, or at the end of an iteration.
    """
    if callback is not None or not (M is None or isinstance(M, str)) or isinstance(A, Plan):
        return _by_scipy(A, b, x0, rtol, atol, max_iterations, M, callback, threads, check, precision, full_output)
    once = {"precond": _preconditioner(M, ", or an operator"), "precision": one_of(_PRECISIONS, precision, "precision"),
            **_symmetry(symmetry_tol, symmetric)}
    source = source_for(A, device)
    matrix = _square(source, threads, check)

    def iterate(x, right, is_f32, options):
        options.update(once, device=device_number(device))
        return attended(_core.cg, matrix, x, right, is_f32, options, of_call(threads), entries=source.nnz,
                        home=source.home, asks=True)

    return _solve(source, iterate, b, x0, rtol, atol, max_iterations, full_output)


def _preconditioner(M, others=""):
    name = M.replace("_", "-") if isinstance(M, str) else M
    if not (name is None or isinstance(name, str)) or name not in _PRECONDITIONERS:
        raise InvalidError(f"M is {M!r}, expected one of {', '.join(map(repr, _PRECONDITIONERS))}{others}")
    return _PRECONDITIONERS[name]


def _symmetry(tolerance, is_known):
    if tolerance is not None and not tolerance >= 0:
        raise InvalidError(f"symmetry_tol is {tolerance}, expected 0 or more, or None")
    return {"symmetry_tolerance": _TOLERANCE_ZERO if tolerance == 0 else tolerance, "assume_symmetric": bool(is_known)}


def _solve(source, iterate, b, x0, rtol, atol, max_iterations, full_output):
    """What cg gives, by iterate(x, b, is_f32, options), which writes x and tells the result."""
    max_iterations = whole(max_iterations, "max_iterations")
    if not (rtol >= 0 and atol >= 0):
        raise InvalidError(f"rtol is {rtol}, atol is {atol}, expected numbers from 0 on")
    right = _columns(b, source, "b")
    x = _columns(right if x0 is None else x0, source, "x0", copy=True)
    if x.shape != right.shape:
        raise InvalidError(f"x0 has shape {tuple(x.shape)}, b has {tuple(right.shape)}")
    options = {
        "tolerance": rtol if rtol > 0 else _TOLERANCE_ZERO,
        "absolute_tolerance": float(atol),
        "max_iterations": max_iterations,
        "start": 0 if x0 is None else _START_X,
        "stream": source.home.stream(),
    }
    if len(right.shape) == 2 and right.shape[1] == 0:
        return (x, 0, None) if full_output else (x, 0)
    shown = [source.home.shown_columns(array) for array in (x, right)]
    result = Info(iterate(*shown, source.dtype == np.float32, options))
    if result.verdict in ("not symmetric", "bad diagonal") or not result.kernel:
        raise InvalidError(in_python(result.message))
    info = 0 if result.verdict == "converged" else max(result.iterations, 1) if result.verdict in _ENDED else -1
    return (x, info, result) if full_output else (x, info)


def cg_plan(A, *, M=None, count=1, format=None, device=None, threads=None, check=True, symmetry_tol=None,
            symmetric=False, precision="full") -> "CgPlan":
    """A system that is solved for many right sides: what cg does before it iterates is done once.

    Parameters
    ----------
    A, M, device, threads, check, symmetry_tol, symmetric, precision :
        As for spry.cg; M by name, or None. The plan borrows A's arrays.
    count : int
        The most right sides that are solved for side by side.
    format : str, optional
        As for spry.plan.

    Raises
    ------
    InvalidError
        A is not symmetric, holds infinities or NaN, or its diagonal is not positive; an unknown name.
    KeyboardInterrupt
        At once; a thread goes on to the end and forgets the plan.
    """
    made = CgPlan(source_for(A, device), M, whole(count, "count"), format, device, threads, symmetry_tol, symmetric,
                  one_of(_PRECISIONS, precision, "precision"), check)
    made._origin = origin_of(A, made._source)
    return made


class CgPlan:
    """A system that is solved again and again; spry.cg_plan makes one. One thread at a time uses it."""

    _origin = None  # what the plan was made of, whose array of values may be another by now

    def __init__(self, source, M, count, format, device, threads, symmetry_tol=None, symmetric=False, precision=0,
                 check=False):
        self._source, self._made = source, (M, count, format, device, threads, symmetry_tol, symmetric, precision)
        self._plan = self._create(check)

    def _create(self, check=False):
        M, count, format, device, threads, symmetry_tol, symmetric, precision = self._made
        source = self._source
        options = {"precond": _preconditioner(M), "count": count, "format": format, "precision": precision,
                   **_place(source, device), **_symmetry(symmetry_tol, symmetric)}
        return attended(_core.CgPlan, _square(source, threads, check), options, of_call(threads), entries=source.nnz,
                        home=source.home)

    @property
    def shape(self) -> tuple[int, int]:
        return self._source.shape

    @property
    def dtype(self) -> np.dtype:
        return self._source.dtype

    def solve(self, b, x0=None, *, rtol=1e-5, atol=0.0, max_iterations=None, full_output=False):
        """As spry.cg."""
        if self._plan is None:
            raise InvalidError("the last update of the plan failed; update the plan again before the next run")
        return _solve(self._source, self._plan.run, b, x0, rtol, atol, max_iterations, full_output)

    def update(self, values=None) -> None:
        """For new values in the same structure.

        Parameters
        ----------
        values : array of nnz entries, optional
            No matrix. In the order of A.data. None: A.data, whose numbers have changed in place, or which is another
            array by now. Values of another array than A.data was are copied: the first such update creates the plan
            anew with an array of its own, into which later ones copy.

        Raises
        ------
        InvalidError
            The new A cannot be solved with; until the next update the plan does not run. Of a matrix that was
            converted, without values: the plan has no arrays of it that may have changed.
        TypeError
            values is a matrix, or holds numbers that A's type does not hold exactly.
        """
        if values is None:
            values = later_values(self._source, self._origin)
        if values is not None:
            self._take(values)
        self._source.home.complete()
        if self._plan is None:
            self._plan = self._create()
        else:
            self._plan.update()

    def _take(self, values):
        """Copies the values to an array of the plan's own."""
        if self._source.owns_values:
            write_values(self._source, values)
            return
        own = self._source.with_own_values()
        write_values(own, values)
        self._source, self._plan = own, None

    def __repr__(self):
        return f"<spry.CgPlan of {self.shape[0]} x {self.shape[1]}, {self._source.nnz} entries, {self.dtype}>"

    def __reduce__(self):
        return CgPlan, (self._source, *self._made)


def _by_scipy(A, b, x0, rtol, atol, max_iterations, M, callback, threads, check, precision, full_output):
    import scipy.sparse.linalg

    from ._plan import plan

    if full_output or isinstance(M, str) or one_of(_PRECISIONS, precision, "precision") != 0:
        given = "full_output" if full_output else "M by name" if isinstance(M, str) else "precision"
        raise InvalidError(f"{given} goes with Spry's own iteration, which "
                           "takes no plan, no callback and no operator M")
    operator = A if isinstance(A, Plan) else plan(A, threads=threads, check=check)
    iterate = scipy.sparse.linalg.cg
    name = "rtol" if "rtol" in inspect.signature(iterate).parameters else "tol"  # before SciPy 1.12
    return iterate(operator, b, x0, atol=atol, maxiter=max_iterations, M=M, callback=callback, **{name: rtol})


def _square(source, threads, check):
    if source.shape[0] != source.shape[1]:
        raise InvalidError(f"A is {source.shape[0]} x {source.shape[1]}, expected a square matrix")
    return source.matrix(of_call(threads), check=check)


def _place(source, device):
    """Where a solver works."""
    return {"device": device_number(device), "stream": source.home.stream()}


def _columns(vectors, source, name, copy=False):
    """As the library takes them, where A is: of A's type, columns one behind the other."""
    array, wanted = source.home.from_any(vectors), source.dtype
    found, shape = source.home.dtype(array), source.home.shape(array)
    if found.kind not in "biuf":
        raise TypeError(f"{name} holds {found}, expected real numbers")
    if not np.can_cast(found, wanted, "same_kind" if found.kind in "iub" else "safe"):
        raise TypeError(f"{name} holds {found}, A holds {wanted}, which does not hold such numbers exactly: "
                        f"{name}.astype({wanted.name!r}) rounds them")
    if len(shape) not in (1, 2) or shape[0] != source.shape[0]:
        raise InvalidError(f"{name} has shape {shape}, expected ({source.shape[0]},) or ({source.shape[0]}, k)")
    return source.home.columns(array, wanted, copy)


def pagerank(A, alpha=0.85, *, tol=None, max_iterations=None, personalization=None, x0=None, edges="row-to-column",
             dangling="teleport", norm=1, device=None, threads=None, check=True, full_output=False):
    """The PageRank of a graph whose matrix is A, n x n, of entries >= 0: the weights of links.

    x = alpha * B @ x + (1 - alpha) * v, where B is A.T with each column divided by its sum.

    Parameters
    ----------
    A : matrix of scipy.sparse, cupyx.scipy.sparse or PyTorch
        As for spry.plan; integers are converted. A[i, j] is a link from i to j, with edges="column-to-row" one from j
        to i.
    alpha : float
        Damping, between 0 and 1.
    tol : float, optional
        Ends when the norm of a step is at most this; None: 1e-8, of float32 1e-6. norm is 1, 2 or numpy.inf.
    max_iterations : int, optional
        1 or more; None: 200.
    personalization : int, dict or (n,), optional
        v: a node, whose weight is 1; the weights of some nodes, as {node: weight}; or the weights of all. Nodes count
        from 0. v is divided by its sum. None: the same for all.
    x0 : (n,), optional
        Where the iteration starts; None: v.
    dangling : "teleport", "drop" or "refuse"
        Nodes that link nowhere: they count as linking to all as v has it; their rank is lost; or InvalidError.
    device : str, optional
        "cuda" works on the GPU, from host memory, too.
    full_output : bool
        Gives (x, info, result), with iterations, error_bound and times (..._us).

    Returns
    -------
    x : (n,)
        Ranks, of sum 1 (less with dangling="drop").
    info : int
        0: converged; above 0: iterations after which it had not; -1: infinities or NaN came up.

    Raises
    ------
    InvalidError
        A number, a name or a weight out of range; sizes that do not fit.
    TypeError
        As spry.plan.
    KeyboardInterrupt
        Some hundredths of a second after Ctrl-C, or at the end of an iteration.
    """
    source = source_for(_with_numbers(A), device)
    matrix = _square(source, threads, check)
    norms = {1: 0, 2: 1, np.inf: 2}
    directions = {"row-to-column": int(source.transposed), "column-to-row": int(not source.transposed)}
    options = {
        "alpha": float(alpha),
        "tolerance": None if tol is None else tol if tol > 0 else _TOLERANCE_ZERO,
        "max_iterations": whole(max_iterations, "max_iterations"),
        "norm": one_of(norms, norm, "norm"),
        "edges": one_of(directions, edges, "edges"),
        "dangling": one_of({"teleport": 0, "refuse": 1, "drop": 2}, dangling, "dangling"),
        "start": 0 if x0 is None else _START_X,
        **_place(source, device),
    }
    if tol is not None and not tol >= 0:
        raise InvalidError(f"tol is {tol}, expected 0 or more, or None")
    if not 0 < alpha < 1:
        raise InvalidError(f"alpha is {alpha}, expected a number between 0 and 1")
    home, dtype = source.home, source.dtype
    x = home.empty(source.shape[0], dtype) if x0 is None else _columns(x0, source, "x0", copy=True)
    v = _weights(personalization, source)
    result = Info(attended(_core.pagerank, matrix, home.shown(x), v, dtype == np.float32, options, of_call(threads),
                           entries=source.nnz, home=home, asks=True))
    if result.verdict == "dangling node":
        raise InvalidError(result.message)
    info = 0 if result.verdict == "converged" else max(result.iterations, 1) if result.verdict in _ENDED else -1
    return (x, info, result) if full_output else (x, info)


def _weights(personalization, source):
    """The weights of all nodes, as the library takes them; None: the same for all."""
    if personalization is None:
        return None
    if isinstance(personalization, numbers.Integral) and not isinstance(personalization, bool):
        personalization = {personalization: 1}
    if isinstance(personalization, Mapping):
        nodes = source.shape[0]
        weights = np.zeros(nodes, source.dtype)
        for node, weight in personalization.items():
            if not isinstance(node, numbers.Integral) or not 0 <= node < nodes:
                raise InvalidError(f"personalization names node {node!r}, expected nodes from 0 to {nodes - 1}")
            if not isinstance(weight, numbers.Real):
                raise TypeError(f"personalization has weight {weight!r} for node {node}, expected a number")
            weights[node] = weight
        personalization = weights
    return source.home.shown(_columns(personalization, source, "personalization"))


def _with_numbers(A):
    """Links are often counted by integers, which are copied as float64."""
    kind = getattr(getattr(A, "dtype", None), "kind", "")
    return A.astype(np.float64) if kind in ("i", "u", "b") and hasattr(A, "tocsr") else A
