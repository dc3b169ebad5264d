"""Vectors that the library does not take as they are: converted where that loses nothing, refused otherwise."""

import numpy as np

from ._errors import InvalidError


def as_operand(x, dtype: str, name: str) -> np.ndarray:
    """x as a contiguous array of one or two dimensions and that type, for the extension."""
    if hasattr(x, "tocsr"):
        raise TypeError(f"{name} is sparse, {type(x).__name__}: spry.spgemm multiplies sparse matrices")
    array = np.asarray(x)
    if array.dtype != np.dtype(dtype):
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{name} holds {array.dtype}, the plan multiplies {dtype} and takes real numbers alone")
        if not np.can_cast(array.dtype, dtype, "safe"):
            raise TypeError(f"{name} holds {array.dtype}, the plan multiplies {dtype}, which does not hold such "
                            f"numbers exactly: {name}.astype({dtype!r}) rounds them"
                            + _other_plan(array.dtype, dtype))
        array = array.astype(dtype)
    if array.ndim not in (1, 2):
        raise InvalidError(f"{name} has {array.ndim} dimensions, expected 1, or 2 for a block of columns")
    return np.require(np.ascontiguousarray(array), requirements="A")


def _other_plan(found, dtype):
    if found == np.float64 and dtype == "float32":
        return "; spry.plan(A, dtype=float) makes a plan for float64 vectors"
    return ""
