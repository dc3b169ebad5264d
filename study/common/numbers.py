"""Means and correlations of measurements. All functions return None for empty input."""
import math
import statistics
from bisect import bisect_left, bisect_right


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else None


def geometric_mean(numbers):
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None


AVERAGES = (mean, geometric_mean, statistics.median)  # for documents that do not state the kind of their averages


def rank_correlation(pairs):
    """Returns Spearman's rank correlation. Equal numbers get their mean rank. Returns None for fewer than 3 pairs or if
    all numbers are equal."""
    if len(pairs) < 3:
        return None
    deviations = []
    for numbers in zip(*pairs):
        order = sorted(numbers)
        deviations.append([(bisect_left(order, n) + bisect_right(order, n) - len(order)) / 2 for n in numbers])
    one, other = deviations
    squares = sum(a * a for a in one) * sum(b * b for b in other)
    return sum(a * b for a, b in zip(one, other)) / squares ** 0.5 if squares else None
