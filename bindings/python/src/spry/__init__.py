"""Spry: fast sparse matrix products for matrices of SciPy, CuPy and PyTorch.

    plan(A)            A made ready for products: plan @ x, plan.run(x, out), plan.T
    spgemm(A, B)       sparse times sparse; spgemm_plan(A, B) for products that are repeated with new values
    cg(A, b)           Conjugate Gradient, called as SciPy's; cg_plan(A) for many right sides
    pagerank(A)        ranks of a graph's nodes
    reorder(A)         a new order of rows and columns
    mmread, mmwrite    files; generate makes matrices
    patch_scipy()      sends SciPy's own A @ x through Spry, while a with block lasts
    set_num_threads    how many threads products may use; threadpoolctl sees and limits them, too

NumPy is all that the import needs. SciPy is loaded where its matrices are taken or given.
"""

from . import _plugin  # noqa: F401  first, since the library looks for GPUs when it is first used
from ._core import version as _version
from ._errors import BadFileError, Error, FileError, InvalidError, OutOfMemoryError
from ._files import generate, generators, mmread, mmwrite
from ._patch import patch_scipy
from ._plan import Explanation, Info, Plan, plan
from ._products import SpgemmPlan, spgemm, spgemm_plan
from ._solvers import CgPlan, cg, cg_plan, pagerank
from ._threads import get_num_threads, set_num_threads
from ._tools import devices, reorder, trim

__version__ = _version()

__all__ = [
    "BadFileError",
    "CgPlan",
    "Error",
    "Explanation",
    "FileError",
    "Info",
    "InvalidError",
    "OutOfMemoryError",
    "Plan",
    "SpgemmPlan",
    "cg",
    "cg_plan",
    "devices",
    "generate",
    "generators",
    "get_num_threads",
    "mmread",
    "mmwrite",
    "pagerank",
    "patch_scipy",
    "plan",
    "reorder",
    "set_num_threads",
    "spgemm",
    "spgemm_plan",
    "trim",
]
