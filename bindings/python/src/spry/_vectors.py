"""Vectors that the library does not support directly: converted if the conversion is exact, else refused."""

import math

import numpy as np

from ._errors import InvalidError


def as_operand(x, dtype: str, name: str) -> np.ndarray:
    """Returns x as a contiguous array of type dtype with one or two dimensions, for the extension."""
    if hasattr(x, "tocsr"):
        raise TypeError(f"{name} is sparse, {type(x).__name__}: spry.spgemm multiplies sparse matrices")
    array = np.asarray(x)
    if array.dtype != np.dtype(dtype):
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{name} holds {array.dtype}, the plan multiplies {dtype} and takes only real numbers")
        if not np.can_cast(array.dtype, dtype, "safe"):
            raise TypeError(f"{name} holds {array.dtype}, the plan multiplies {dtype}, which does not hold such "
                            f"numbers exactly: {name}.astype({dtype!r}) rounds them"
                            + _other_plan(array.dtype, dtype))
        array = array.astype(dtype)
    if array.ndim not in (1, 2):
        raise InvalidError(f"{name} has {array.ndim} dimensions, expected 1, or 2 for a block of columns")
    return np.require(np.ascontiguousarray(array), requirements="A")


def check_target(out: np.ndarray) -> None:
    """Refuses an output array if two of its elements share memory."""
    refuse_shared(out.shape, out.strides)


def refuse_shared(shape, strides):
    """Refuses a shape of one or two dimensions if elements share memory. All strides must have the same unit, bytes or
    elements."""
    long = [(length, abs(int(stride))) for length, stride in zip(shape, strides, strict=True) if length > 1]
    if 0 in shape or not long:
        return
    shared = any(stride == 0 for _, stride in long)
    if not shared and len(long) == 2:
        (m, a), (n, b) = long
        common = math.gcd(a, b)
        shared = b // common < m and a // common < n  # b/common steps of stride a equal a/common steps of stride b
    if shared:
        raise InvalidError(f"out has strides {tuple(strides)}, with which entries share memory, as after "
                           "numpy.broadcast_to; expected an array with one memory location for each entry")


def _other_plan(found, dtype):
    if found == np.float64 and dtype == "float32":
        return "; spry.plan(A, dtype=float) creates a plan for float64 vectors"
    return ""
