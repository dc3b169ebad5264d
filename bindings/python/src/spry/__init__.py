"""Spry: fast sparse matrix products for matrices of SciPy, CuPy and PyTorch.

    plan(A)            prepares A for products: plan @ x, plan.run(x, out), plan.T
    spgemm(A, B)       multiplies sparse matrices; spgemm_plan(A, B) for products that are repeated with new values
    cg(A, b)           Conjugate Gradient, called like SciPy's; cg_plan(A) for many right sides
    pagerank(A)        ranks of a graph's nodes
    reorder(A)         an ordering of rows and columns
    mmread, mmwrite    read and write files; generate creates matrices
    patch_scipy()      computes SciPy's own A @ x with Spry inside a with block
    set_num_threads    limits the threads of products; threadpoolctl can also report and limit them

The import needs only NumPy. SciPy is loaded when a function takes or returns a SciPy matrix.
"""

from . import _plugin  # noqa: F401  first, because the library searches for GPUs on first use
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
