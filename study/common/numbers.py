"""Means of what was measured; None: of nothing."""
import math


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else None


def geometric_mean(numbers):
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None
