"""Vectors that the library does not take as they are: converted where that loses nothing, refused otherwise."""

import math

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


def check_target(out: np.ndarray) -> None:
    """Refuses an array to be written where two of its entries are one number in memory."""
    refuse_shared(out.shape, out.strides)


def refuse_shared(shape, strides):
    """The same by the lengths of one or two dimensions and their strides, in one unit."""
    long = [(length, abs(int(stride))) for length, stride in zip(shape, strides, strict=True) if length > 1]
    if 0 in shape or not long:
        return
    shared = any(stride == 0 for _, stride in long)
    if not shared and len(long) == 2:
        (m, a), (n, b) = long
        common = math.gcd(a, b)
        shared = b // common < m and a // common < n  # as many steps along one lead where so many of the other do
    if shared:
        raise InvalidError(f"out has strides {tuple(strides)}: several of its entries are one number in memory, as "
                           "numpy.broadcast_to makes them; expected an array of its own for each")


def _other_plan(found, dtype):
    if found == np.float64 and dtype == "float32":
        return "; spry.plan(A, dtype=float) makes a plan for float64 vectors"
    return ""
