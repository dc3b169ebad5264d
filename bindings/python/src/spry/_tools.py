"""Orders of rows and columns, devices, memory."""

from . import _core
from ._arrays import host_source_of
from ._threads import interruptible


def reorder(A, method="rcm", *, check=True):
    """Computes an ordering of A's rows and columns: perm[new] = old. A[perm][:, perm] is the reordered matrix.

    Parameters
    ----------
    A : matrix of scipy.sparse
        As for spry.plan. If A is not square, only rows are reordered: A[perm].
    method : str
        "rcm" (a narrow band), "bfs" (as good for products, in half the time of "rcm"), "degree" (longest rows first),
        "bandk".

    Returns
    -------
    (m,) array of int64
    """
    if not isinstance(method, str):
        raise TypeError(f'method is {method!r}, expected a name, such as "rcm"')
    matrix = host_source_of(A).matrix(check=check)
    rows, _ = interruptible(_core.order, matrix, method)
    return rows


def devices() -> list[dict]:
    """Lists the CPU and the GPUs. If no GPU can be used, an entry has the reason."""
    return _core.devices()


def trim() -> int:
    """Gives memory that the library keeps for later calls back to the system. Returns the number of bytes."""
    return _core.trim()
