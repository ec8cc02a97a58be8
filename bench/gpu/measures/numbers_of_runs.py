"""Means with their intervals, and quantiles. Pure; used by all measures."""

import math
import statistics

# Two-sided 95 % quantiles of Student's t distribution for 1 to 30 degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
      2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
_NORMAL = 1.960


def interval(values):
    """{"mean", "low", "high", "repeats"}: the mean with its 95 % interval; low and high are None for fewer than two values."""
    count = len(values)
    if count == 0:
        return {"mean": None, "low": None, "high": None, "repeats": 0}
    mean = statistics.fmean(values)
    if count == 1:
        return {"mean": mean, "low": None, "high": None, "repeats": 1}
    half = (_T[count - 2] if count - 2 < len(_T) else _NORMAL) * statistics.stdev(values) / math.sqrt(count)
    return {"mean": mean, "low": mean - half, "high": mean + half, "repeats": count}


def quantile(values, share):
    """The value below which `share` of the values lie, between neighbours; None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def changes(with_it, without):
    """Relative change of each pair of runs that were made one after the other."""
    return [one / other - 1 for one, other in zip(with_it, without)]
