#!/usr/bin/env python3
"""Coverage, precision, report error, detection latency and yield latency: Weft's traces held against the ground truth.

Started by scripts/gpu-proof. One run without Weft and one with fill, both logged: by the simulator, on hardware by CUPTI
(cupti_truth.so). Prints one JSON object; see README.md for its values.
"""
import sys

import truth
from numbers_of_runs import quantile
from training_runs import UNFILLED, Measuring, iterations_for, skip

FLOOR = 1_000_000  # idle intervals that are long enough to be filled


class RankAccuracy:
    """One rank: what its trace reports and what really was."""

    def __init__(self, program, trace_file, logs):
        records = truth.read_lines(trace_file)
        header = next(record for record in records if record["type"] == "header")
        summary = next(record for record in records if record["type"] == "summary")
        log = truth.log_of(logs, header["process"])
        if log is None:
            raise ValueError(f"no log of rank {header['rank']}")
        self.rank = header["rank"]
        self.window = (summary["window_begin"], summary["window_end"])
        self.idle, self.hazards = truth.idle_intervals(program, log, self.window)
        self.reported = truth.united([record["opened"], record["closed"]] for record in records if record["type"] == "bubble")
        self.kernels = truth.Kernels(truth.read_lines(log))
        iterations = [record["started"] for record in records if record["type"] == "iteration"]
        # Latencies count once the rhythm and the forecasts are known.
        self.settled = sorted(iterations)[UNFILLED] if len(iterations) > UNFILLED else self.window[1]

    def settled_idle(self):
        return [span for span in self.idle if span[0] >= self.settled]


def ranks_of(measuring, run):
    program = measuring.programs / "bin/simgpu-truth"
    ranks = []
    for file in sorted(run.trace.glob("rank*.jsonl")):
        try:
            ranks.append(RankAccuracy(program, file, run.truth))
        except (ValueError, StopIteration) as problem:
            measuring.failures.append(f"{file.name}: {problem or 'the trace has no summary'}")
    return ranks


def latencies(values):
    return {"p50_ns": quantile(values, 0.50), "p99_ns": quantile(values, 0.99), "samples": len(values)}


def collected(ranks, function):
    return [value for rank in ranks for value in function(rank.settled_idle(), rank.kernels, FLOOR)]


def difference(one, other):
    return None if one is None or other is None else one - other


def values_of(observed, filled):
    idle, reported = (sum(truth.length(part) for part in parts) for parts in
                      ([rank.idle for rank in filled], [rank.reported for rank in filled]))
    common = sum(truth.overlap(rank.reported, rank.idle) for rank in filled)
    window = sum(rank.window[1] - rank.window[0] for rank in filled)
    errors = [abs(truth.length(rank.reported) - truth.length(rank.idle)) / truth.length(rank.idle) for rank in filled if rank.idle]
    resumed, resumed_plain = (latencies(collected(ranks, truth.resume_delays)) for ranks in (filled, observed))
    return {"coverage": common / idle if idle else None, "precision": common / reported if reported else None,
            "idle_share_true": idle / window, "idle_share_reported": reported / window,
            "report_error": abs(reported - idle) / idle if idle else None, "report_error_worst_rank": max(errors, default=None),
            "detection_latency": latencies(collected(filled, truth.detection_latencies)),
            "yield_latency": {"p50_ns": difference(resumed["p50_ns"], resumed_plain["p50_ns"]),
                              "p99_ns": difference(resumed["p99_ns"], resumed_plain["p99_ns"]),
                              "with_fill": resumed, "without_fill": resumed_plain},
            "hazards": sum(rank.hazards for rank in filled), "ranks": len(filled)}


def main():
    measuring = Measuring("accuracy", __doc__.splitlines()[0])
    if not measuring.simulated and not (measuring.programs / "bin/measures/cupti_truth.so").exists():
        skip("the programs were built without CUPTI's headers: there is no ground truth")
    iterations = iterations_for(measuring, "1f1b", 4 if measuring.quick else 10)
    # The run to compare with is observed: its trace says which idle time counts.
    observed = measuring.run("observe", "1f1b", iterations, "observe", log=True) if iterations else None
    filled = measuring.run("fill", "1f1b", iterations, "fill", log=True) if observed else None
    ranks = [ranks_of(measuring, run) if run else [] for run in (observed, filled)]
    return measuring.print_result(values_of(*ranks) if all(ranks) else {})


if __name__ == "__main__":
    sys.exit(main())
