"""Conjugate Gradient and PageRank. Both return (x, info), like SciPy's solvers."""

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

_TOLERANCE_ZERO = -1.0  # the library reads 0 as its default tolerance
_START_X = 2
_PRECISIONS = {"full": 0, "f32:f64": 1, "f32": 2}
_PRECONDITIONERS = {None: 0, "jacobi": 1, "block-jacobi": 2, "chebyshev": 3}
_ENDED = ("iteration limit", "stagnation")


def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, max_iterations=None, M=None, callback=None, device=None,
       threads=None, check=True, symmetry_tol=None, symmetric=False, precision="full", full_output=False):
    """Solves A @ x = b for symmetric positive definite A by Conjugate Gradient, called like scipy.sparse.linalg.cg.

    Parameters
    ----------
    A : matrix of scipy.sparse, cupyx.scipy.sparse or PyTorch, n x n, or a spry.Plan
        As for spry.plan. Symmetry is checked up to rounding.
    b : (n,), (n, 1), or (n, k) for k systems that are solved together
        In the same memory as A; NumPy arrays are copied to a GPU's memory.
    x0 : like b, optional
        Initial guess; None: zero.
    rtol, atol : float
        The solver has converged when norm(b - A @ x) <= max(rtol * norm(b), atol).
    max_iterations : int, optional
        SciPy's maxiter. None: 10 n, at least 10 000 and at most 100 000.
    M : optional
        Preconditioner: "jacobi", "block-jacobi", "chebyshev", or an operator as in SciPy.
    device : str, optional
        "cuda" solves on the GPU, also for a matrix in host memory.
    callback : function, optional
        Called as callback(x) after each iteration. With a callback, with an operator M or if A is a plan, SciPy's own
        iteration runs with Spry's products and does not check symmetry. To solve many times with one A, use
        spry.cg_plan.
    symmetry_tol : float, optional
        A is symmetric if abs(A[i, j] - A[j, i]) <= symmetry_tol * eps * max(abs(A[i, j]), abs(A[j, i]),
        sqrt(abs(A[i, i] * A[j, j]))) for all i, j, with eps = numpy.finfo(A.dtype).eps. None: 1000.
    symmetric : bool
        True: assumes that A is symmetric, without a check.
    precision : "full", "f32:f64" or "f32"
        Precision of the iteration for float64 matrices. "f32:f64": values of A in float32. "f32": values and vectors
        in float32. Residuals are in float64.
    full_output : bool
        Returns (x, info, result). result has iterations, residuals and times (..._us). Not for SciPy's iteration.

    Returns
    -------
    x : like b
    info : int
        0: converged; above 0: not converged after this number of iterations; -1: breakdown, A is not positive definite.

    Raises
    ------
    InvalidError
        A is not symmetric or has infinities or NaN, or sizes do not match.
    TypeError
        As for spry.plan.
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
    """Returns cg's results. iterate(x, b, is_f32, options) writes x and returns the library's result."""
    max_iterations = whole(max_iterations, "max_iterations")
    if not (rtol >= 0 and atol >= 0):
        raise InvalidError(f"rtol is {rtol}, atol is {atol}, expected 0 or more for both")
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
    """Creates a plan for a system with many right-hand sides. The set-up of cg is done once.

    Parameters
    ----------
    A, M, device, threads, check, symmetry_tol, symmetric, precision :
        As for spry.cg; M by name, or None. The plan borrows A's arrays.
    count : int
        Maximum number of right-hand sides that are solved together.
    format : str, optional
        As for spry.plan.

    Raises
    ------
    InvalidError
        A is not symmetric, has infinities or NaN or a diagonal that is not positive; or a name is unknown.
    KeyboardInterrupt
        Raised immediately. Another thread runs to the end and discards the plan.
    """
    made = CgPlan(source_for(A, device), M, whole(count, "count"), format, device, threads, symmetry_tol, symmetric,
                  one_of(_PRECISIONS, precision, "precision"), check)
    made._origin = origin_of(A, made._source)
    return made


class CgPlan:
    """A system that is solved repeatedly; spry.cg_plan creates one. Only one thread at a time may use it."""

    _origin = None  # the caller's matrix, to see whether its array of values was replaced

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
        """Solves A @ x = b. Parameters and results as for spry.cg."""
        if self._plan is None:
            raise InvalidError("the last update of the plan failed; update the plan again before the next run")
        return _solve(self._source, self._plan.run, b, x0, rtol, atol, max_iterations, full_output)

    def update(self, values=None) -> None:
        """Takes over new values in the same structure.

        Parameters
        ----------
        values : array of nnz entries, optional
            New values in the order of A.data. None: A.data has changed in place or was replaced by another array.
            Values from another array than the original A.data are copied to an array that the plan owns. The first
            such update creates this array and builds the plan again.

        Raises
        ------
        InvalidError
            The new A cannot be solved; the plan refuses to run until the next update. Also if values is None and A
            was converted, so the plan has a copy that does not see A's changes.
        TypeError
            values is a matrix, or A's type cannot represent the values exactly.
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
        """Copies the values to an array that the plan owns."""
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
        raise InvalidError(f"{given} needs Spry's own iteration, which supports no plan, no callback and no operator M")
    operator = A if isinstance(A, Plan) else plan(A, threads=threads, check=check)
    iterate = scipy.sparse.linalg.cg
    name = "rtol" if "rtol" in inspect.signature(iterate).parameters else "tol"  # tol: SciPy before 1.12
    return iterate(operator, b, x0, atol=atol, maxiter=max_iterations, M=M, callback=callback, **{name: rtol})


def _square(source, threads, check):
    if source.shape[0] != source.shape[1]:
        raise InvalidError(f"A is {source.shape[0]} x {source.shape[1]}, expected a square matrix")
    return source.matrix(of_call(threads), check=check)


def _place(source, device):
    """Returns the options for a solver's device and stream."""
    return {"device": device_number(device), "stream": source.home.stream()}


def _columns(vectors, source, name, copy=False):
    """Returns vectors as the library needs them: in A's memory, of A's type, column-major."""
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
    """Computes the PageRank of a graph with the n x n matrix A. Entries of A, the weights of links, are >= 0.

    Solves x = alpha * B @ x + (1 - alpha) * v, where B is A.T with each column divided by its sum.

    Parameters
    ----------
    A : matrix of scipy.sparse, cupyx.scipy.sparse or PyTorch
        As for spry.plan; integers are converted. A[i, j] is a link from i to j, or from j to i with
        edges="column-to-row".
    alpha : float
        Damping factor, between 0 and 1.
    tol : float, optional
        The iteration ends when the norm of a step is at most tol; None: 1e-8, or 1e-6 for float32.
    norm : 1, 2 or numpy.inf
        Norm of a step.
    max_iterations : int, optional
        1 or more; None: 200.
    personalization : int, dict or (n,), optional
        v: one node with weight 1; weights of some nodes as {node: weight}; or weights of all nodes. Nodes are counted
        from 0. v is divided by its sum. None: equal weights.
    x0 : (n,), optional
        Initial guess; None: v.
    dangling : "teleport", "drop" or "refuse"
        Treatment of nodes without outgoing links. "teleport": they link to all nodes with the weights of v. "drop":
        their rank is lost. "refuse": InvalidError.
    device : str, optional
        "cuda" runs on the GPU, also for a matrix in host memory.
    full_output : bool
        Returns (x, info, result). result has iterations, error_bound and times (..._us).

    Returns
    -------
    x : (n,)
        Ranks with sum 1 (less with dangling="drop").
    info : int
        0: converged; above 0: not converged after this number of iterations; -1: infinities or NaN occurred.

    Raises
    ------
    InvalidError
        A parameter or weight is out of range, a name is unknown, or sizes do not match.
    TypeError
        As for spry.plan.
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
    """Returns the weights of all nodes for the extension; None means equal weights."""
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
    """Converts matrices of integers or bool, such as counts of links, to float64."""
    kind = getattr(getattr(A, "dtype", None), "kind", "")
    return A.astype(np.float64) if kind in ("i", "u", "b") and hasattr(A, "tocsr") else A
