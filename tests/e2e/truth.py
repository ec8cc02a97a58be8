"""Traces against the simulated GPU's logs, for the tests of this folder. Needs bench/jobs in PYTHONPATH.

A run has a segment for each time that communicators were there, with a summary at its end; only these are looked at.
Shares are parts of all segments' windows. Kernels start and end when the simulated GPU got to it: what it did late,
for want of a processor, nobody can have seen earlier.
"""
from __future__ import annotations

import glob
import json
import subprocess
import sys
from dataclasses import dataclass

from intervals import Intervals, intersection, length, united


MOMENT = 10_000  # ns: a gap between dependent kernels is no idle time


@dataclass
class Comparison:
    name: str
    device: int
    records: list[dict]
    summaries: list[dict]
    idle: float  # reported
    true: float  # NCCL ran and nothing computed
    nothing: float  # nothing ran at all
    uncertain: float
    precision: float  # the part of the reported idle time in which nothing computed; 1 where none is reported
    coverage: float  # the part of the true idle time that is reported
    covered: float  # the part of it that is reported or uncertain
    nothing_covered: float  # the part of the time in which nothing ran that is reported or uncertain
    computed_uncertain: float  # the part of the uncertain time in which something computed
    causes: list[str]  # of uncertain time
    true_intervals: Intervals
    uncomputed_intervals: Intervals  # in which nothing computed, whether NCCL ran or not

    def of(self, kind: str) -> list[dict]:
        return [record for record in self.records if record["type"] == kind]

    def __str__(self) -> str:
        return (f"{self.name}: idle {self.idle:.1%} true {self.true:.1%} precision {self.precision:.4f} coverage "
                f"{self.coverage:.4f} uncertain {self.uncertain:.2%} covered {self.covered:.4f} nothing ran "
                f"{self.nothing:.1%} covered {self.nothing_covered:.4f} {self.causes}")


def without(whole: Intervals, part: Intervals) -> Intervals:
    result, at = [], 0
    for begin, end in whole:
        at = begin
        for first, last in intersection([(begin, end)], part):
            result.append((at, first))
            at = last
        result.append((at, end))
    return united(result)


def what_ran(log: str) -> tuple[Intervals, Intervals]:
    """Compute, and everything. Of compute the time in which it ran for certain: between an end and the moment at which the
    simulated GPU got to it, a marker behind it may have been written or not."""
    ran = [record for record in map(json.loads, open(log, encoding="utf-8")) if record["type"] in ("kernel", "copy")]
    is_compute = lambda r: (r["kind"] in ("d2d", "set") if r["type"] == "copy" else not r.get("spin"))
    begin = lambda r: r.get("start_told", r["start"])
    certain = united((begin(r), max(begin(r), r["end"])) for r in filter(is_compute, ran))
    return certain, united((begin(r), r.get("end_told", r["end"])) for r in ran)


def compare(tool: str, trace: str, logs: str, *how: str) -> Comparison:
    """`tool`: simgpu-truth, `how`: its options; `logs`: the folder that SIMGPU_LOG named."""
    records = [json.loads(line) for line in open(trace, encoding="utf-8")]
    summaries = [record for record in records if record["type"] == "summary"]
    assert summaries and records[-1]["type"] == "summary", trace
    device, process = records[0]["device"], trace.split("/")[-1].split(".")[1]
    log = f"{logs}/gpu{device}.{process}.jsonl"
    windows = united((summary["window_begin"], summary["window_end"]) for summary in summaries)
    true: Intervals = []
    for begin, end in windows:
        told = subprocess.run([tool, "--from", str(begin), "--to", str(end), "--intervals", "--as-told", *how, log],
                              capture_output=True, check=True)
        true += [(first, last) for first, last in json.loads(told.stdout)["logs"][0]["intervals"]]
    true = united(true)
    compute, everything = what_ran(log)
    nothing = without(windows, everything)
    of = lambda kind, first, last: intersection(united((r[first], r[last]) for r in records if r["type"] == kind), windows)
    idle, uncertain = of("bubble", "opened", "closed"), of("uncertain", "began", "ended")
    known = united(idle + uncertain)
    part = lambda some, whole: length(some) / length(whole) if length(whole) else 1.0
    both = lambda left, right: intersection(left, right)
    return Comparison(trace.split("/")[-1], device, records, summaries, part(idle, windows), part(true, windows),
                      part(nothing, windows), part(uncertain, windows), part(without(idle, compute), idle),
                      part(both(idle, true), true), part(both(known, true), true), part(both(known, nothing), nothing),
                      part(both(uncertain, compute), uncertain),
                      sorted({record["why"] for record in records if record["type"] == "uncertain"}), true,
                      without(windows, compute))


@dataclass
class End:
    off: int  # ns, from where it may truly be
    within: int  # as the record says

    @property
    def is_right(self) -> bool:
        return self.off <= self.within + MOMENT


def ends_of_bubbles(rank: Comparison) -> list[End]:
    """Beginnings and ends, but for those at which one bubble or uncertain time goes over into the next. Where the host was
    late nothing had reached the GPU, whose log does not know when it was called for: nothing may compute there."""
    known = sorted([(r["opened"], r["closed"]) for r in rank.of("bubble")] + [(r["began"], r["ended"]) for r in rank.of("uncertain")])
    begins, ends = {begin for begin, _ in known}, {end for _, end in known}
    nearest = lambda time, edge: min(abs(time - interval[edge]) for interval in rank.true_intervals)
    outside = lambda time: min(max(0, begin - time, time - end) for begin, end in rank.uncomputed_intervals)
    found: list[End] = []
    for record in rank.of("bubble"):
        of_host = record["cause"] == "host"
        for edge, name, others in (0, "opened", ends), (1, "closed", begins):
            if record[name] not in others:
                found.append(End(outside(record[name]) if of_host else nearest(record[name], edge), record[name + "_within"]))
    return found


def compare_all(tool: str, work: str, *how: str) -> list[Comparison]:
    """Of WORK/trace with WORK/truth."""
    found = [compare(tool, trace, work + "/truth", *how) for trace in sorted(glob.glob(work + "/trace/*.jsonl"))]
    for comparison in found:
        print(comparison, file=sys.stderr)
    return found


def compare_two(tool: str, work: str) -> tuple[list[Comparison], Comparison]:
    """Both ranks of WORK, which have dropped nothing, and the one that receives, on device 1."""
    ranks = compare_all(tool, work)
    assert len(ranks) == 2, ranks
    for rank in ranks:
        assert all(summary["dropped_records"] == 0 for summary in rank.summaries), rank
    return ranks, next(rank for rank in ranks if rank.device == 1)
