"""The arithmetic of the report, on plain numbers. None is a missing time."""
import math
import statistics

# Quantiles of Student's distribution for two-sided 99 % intervals, for 1, 2, ... degrees of freedom.
_STUDENT_99 = (63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
               2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750)


def geometric_mean(numbers):
    """Returns the geometric mean; None for empty input."""
    numbers = list(numbers)
    return math.exp(math.fsum(map(math.log, numbers)) / len(numbers)) if numbers else None


def over_best(times):
    """Returns each time divided by the least time."""
    best = min((time for time in times if time is not None), default=None)
    return [None if time is None or best is None else time / best for time in times]


def profile(factors, at):
    """Returns the share of the factors (times divided by the best time of their matrix) that are at most `at`. None
    counts as larger."""
    return sum(factor is not None and factor <= at for factor in factors) / len(factors) if factors else 0.0


def profile_steps(factors):
    """Returns the profile's steps: [(factor, share from this factor on), ...], increasing."""
    known = sorted(factor for factor in factors if factor is not None)
    return [(factor, (k + 1) / len(factors)) for k, factor in enumerate(known)]


def break_even(setup, time, base_setup, base_time):
    """Returns the calls after which a set-up has paid compared with a base: math.inf if never, None if unknown."""
    if None in (setup, time, base_setup, base_time):
        return None
    dearer, gain = setup - base_setup, base_time - time
    if dearer <= 0 and gain >= 0:
        return 0
    return math.inf if gain <= 0 else max(0, math.ceil(dearer / gain))


def cost_of_calls(setup, upload, time, calls):
    """Returns the time of set-up, without upload to a device, and `calls` calls. calls None: the time of one call."""
    if time is None or (calls is not None and setup is None):
        return None
    return time if calls is None else max(0.0, setup - (upload or 0)) + calls * time


def regret(time, times):
    """Returns a choice's time divided by the least of all times, including its own; None without a time."""
    return None if time is None else time / min([time] + [other for other in times if other is not None])


def standard_error(spread, runs, time):
    """Returns the relative error of a median, from the spread. Uses at most 20 runs, since batches are correlated."""
    if spread is None or not runs or not time:
        return None
    return 0.93 * spread / time / math.sqrt(min(runs, 20))


def scatter(logs):
    """Returns a robust standard deviation: the scaled median absolute deviation from the median."""
    middle = statistics.median(logs)
    return 1.4826 * statistics.median(abs(value - middle) for value in logs)


def mean_interval(logs):
    """Returns (mean, half the width of its 99 % interval). The width is None for fewer than two numbers."""
    mean = math.fsum(logs) / len(logs)
    if len(logs) < 2:
        return mean, None
    student = _STUDENT_99[min(len(logs) - 1, len(_STUDENT_99)) - 1]
    return mean, student * statistics.stdev(logs) / math.sqrt(len(logs))


def quantile_for(alpha):
    """Returns the number of standard deviations that a normal variable exceeds with probability alpha."""
    return statistics.NormalDist().inv_cdf(1 - alpha)
