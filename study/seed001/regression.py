"""Section 4.1: a regression of the best group sizes on the logarithm of the mean row length d.

The slope is reduced if the formula gives less than half of a matrix's best size; the document reduces it by hand. Each
of the four cases of d has a factor, the geometric mean of the best size divided by the formula's size.
"""
import math

from common.numbers import geometric_mean

CASES = (8, 16, 32)  # largest mean row length of cases 1, 2 and 3
LEAST_SHARE = 0.5


def case_of(density):
    return sum(density > most for most in CASES)


def rounded(size):
    return max(1, math.floor(size + 0.5))


def fit(points):
    """Fits the formula to points (mean row length, best size). Returns a function from a mean row length to a size."""
    logs, sizes = [math.log(density) for density, _ in points], [size for _, size in points]
    x, y = sum(logs) / len(logs), sum(sizes) / len(sizes)
    spread = sum((log - x) ** 2 for log in logs)
    fall = -sum((log - x) * (size - y) for log, size in zip(logs, sizes)) / spread if spread else 0
    constant = y + fall * x
    for log, size in zip(logs, sizes):
        if log > 0 and constant - fall * log < LEAST_SHARE * size:
            fall = (constant - LEAST_SHARE * size) / log
    over = {}
    for density, size in points:
        over.setdefault(case_of(density), []).append(size / rounded(constant - fall * math.log(density)))
    factors = {case: geometric_mean(ratios) for case, ratios in over.items()}
    return lambda density: rounded(rounded(constant - fall * math.log(density)) * factors.get(case_of(density), 1))
