"""Arithmetic on sets of time: lists of (begin, end) in nanoseconds. Pure; used by cell.py on what a trace and a log say."""
from __future__ import annotations

Intervals = list[tuple[int, int]]


def united(intervals) -> Intervals:
    """Sorted, without overlaps and without empty ones."""
    result: Intervals = []
    for begin, end in sorted((begin, end) for begin, end in intervals if begin < end):
        if result and begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((begin, end))
    return result


def length(intervals: Intervals) -> int:
    return sum(end - begin for begin, end in intervals)


def intersection(left: Intervals, right: Intervals) -> Intervals:
    """Of two united sets."""
    result: Intervals = []
    i = j = 0
    while i < len(left) and j < len(right):
        begin, end = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if begin < end:
            result.append((begin, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return result


def difference(left: Intervals, right: Intervals) -> Intervals:
    """The time that is in one of two united sets, and not in the other."""
    edges = sorted(edge for interval in left + right for edge in interval)  # from one to the next it changes
    return united(zip(edges[::2], edges[1::2]))


def compare(reported, true, uncertain, window: tuple[int, int]) -> dict:
    """Idle time as it was reported against what was true, both within the window. Shares of the window, and

    coverage: the part of the true idle time that was reported; uncertain time was not. None where there is none.
    accounted: the part of it that was reported or said to be uncertain. Likewise.
    precision: the part of the reported idle time that was truly idle. None where there is none.
    """
    whole = united([window])
    reported, true, uncertain = (intersection(united(some), whole) for some in (reported, true, uncertain))
    both = length(intersection(reported, true))
    time = max(length(whole), 1)
    return {
        "idle": length(reported) / time,
        "true": length(true) / time,
        "uncertain": length(uncertain) / time,
        "coverage": both / length(true) if true else None,
        "accounted": length(intersection(united(reported + uncertain), true)) / length(true) if true else None,
        "precision": both / length(reported) if reported else None,
    }
