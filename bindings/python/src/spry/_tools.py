"""Orders of rows and columns, devices, memory."""

from . import _core
from ._arrays import host_source_of
from ._threads import interruptible


def reorder(A, method="rcm", *, check=True):
    """A new order of A's rows and columns: perm[new] = old, of int64; A[perm][:, perm] is the matrix in it.

    Parameters
    ----------
    A : matrix of scipy.sparse
        As for spry.plan. Of a matrix that is not square only rows move: A[perm].
    method : str
        "rcm" (a narrow band), "bfs" (as good for products, in half of the time), "degree" (longest rows first),
        "bandk".

    Returns
    -------
    (m,) array of int64
    """
    if not isinstance(method, str):
        raise TypeError(f'method is {method!r}, expected a name, as "rcm"')
    matrix = host_source_of(A).matrix(check=check)
    rows, _ = interruptible(_core.order, matrix, method)
    return rows


def devices() -> list[dict]:
    """The devices: the CPU, and GPUs, or the reason why there is none to use."""
    return _core.devices()


def trim() -> int:
    """Gives memory that the library keeps for later calls back to the system; how many bytes that were."""
    return _core.trim()
