"""The ground truth of one process: when its GPU was idle, and when fill ran, from the log of the simulated GPU or of cupti_truth.

Used by accuracy.py. Only simgpu-truth decides when the GPU counts as idle; this module reads single kernels for the
latencies, by the same rules (sim/truth/truth.h). Times: nanoseconds of CLOCK_MONOTONIC, as in Weft's traces.
"""

import bisect
import json
import pathlib
import subprocess

SHORTEST_BUBBLE = 10_000  # gaps between dependent kernels are no bubbles


def read_lines(path):
    """The JSON objects of a file of lines; a last line that breaks off is left out."""
    objects = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                objects.append(json.loads(line))
            except ValueError:
                pass
    return objects


class Kernels:
    """Starts and ends of one process's work on one GPU, by who ran it."""

    def __init__(self, records):
        self.compute, self.communication, self.fill = [], [], []
        for record in records:
            if record["type"] == "kernel" or record.get("kind") in ("d2d", "set"):
                span = (record["start"], record["end"])
                if record.get("thread", "").startswith("weft"):
                    self.fill.append(span)
                elif record.get("name", "").startswith("ncclDevKernel") or record.get("spin") is True:
                    self.communication.append(span)
                else:
                    self.compute.append(span)
        for spans in (self.compute, self.communication, self.fill):
            spans.sort()


def idle_intervals(program, log, window):
    """[[begin, end]] of the main job's idle time in the window, from simgpu-truth, and its hazards."""
    done = subprocess.run([program, "--from", str(window[0]), "--to", str(window[1]), "--shortest", str(SHORTEST_BUBBLE),
                           "--intervals", log], stdout=subprocess.PIPE, universal_newlines=True, timeout=120, check=True)
    entry = json.loads(done.stdout)["logs"][0]
    return entry["intervals"], entry["fill_hazards"]


def log_of(directory, process):
    """The log of a process, None when there is none or several devices."""
    found = sorted(pathlib.Path(directory).glob(f"gpu*.{process}.jsonl"))
    used = [path for path in found if any(record["type"] == "kernel" for record in read_lines(path))]
    return used[0] if len(used) == 1 else None


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def united(intervals):
    result = []
    for begin, end in sorted(intervals):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        elif begin < end:
            result.append([begin, end])
    return result


def overlap(left, right):
    """Length of what two lists of sorted, disjoint intervals have in common."""
    total, i, j = 0, 0, 0
    while i < len(left) and j < len(right):
        total += max(0, min(left[i][1], right[j][1]) - max(left[i][0], right[j][0]))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return total


def detection_latencies(idle, kernels, floor):
    """From the begin of an idle interval to the start of the first fill kernel in it, for intervals of at least `floor`."""
    starts = [span[0] for span in kernels.fill]
    latencies = []
    for begin, end in idle:
        first = bisect.bisect_left(starts, begin)
        if end - begin >= floor and first < len(starts) and starts[first] < end:
            latencies.append(starts[first] - begin)
    return latencies


def resume_delays(idle, kernels, floor, most=5_000_000):
    """From the end of the last communication of an idle interval to the main job's next kernel. Delays of `most` and more have
    another cause: the host had nothing to run."""
    starts = [span[0] for span in kernels.compute]
    ends = {span[1] for span in kernels.communication}
    delays = []
    for begin, end in idle:
        following = bisect.bisect_left(starts, end)
        if end - begin >= floor and end in ends and following < len(starts) and starts[following] - end < most:
            delays.append(starts[following] - end)
    return delays
