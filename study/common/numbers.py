"""Means of what was measured; None: of nothing."""
import math


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else None


def geometric_mean(numbers):
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None


def rank_correlation(pairs):
    """Spearman's, of (x, y); those that are equal are ranked in their order. None: fewer than three."""
    if len(pairs) < 3:
        return None
    ranks = []
    for place in (0, 1):
        order = sorted(range(len(pairs)), key=lambda i: pairs[i][place])
        rank = [0] * len(pairs)
        for position, i in enumerate(order):
            rank[i] = position
        ranks.append(rank)
    middle = (len(pairs) - 1) / 2
    top = sum((a - middle) * (b - middle) for a, b in zip(*ranks))
    return top / sum((a - middle) ** 2 for a in ranks[0])
