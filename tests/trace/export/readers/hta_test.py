#!/usr/bin/env python3
"""weft export --kineto in HTA itself: hta_test.py WEFT TRACES
Its idle time of each rank is that of weft summary within 0.1 points, and in a window that of the iterations."""
import json
import logging
import subprocess
import sys
import tempfile
import warnings

from traces import Run

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
from hta.trace_analysis import TraceAnalysis  # noqa: E402

MOST_POINTS = 0.1


def analysis_of(weft, traces, folder, *more):
    subprocess.run([weft, "export", traces, "--kineto", folder, *more], check=True, stderr=subprocess.DEVNULL)
    return TraceAnalysis(trace_dir=folder)


def compare(what, analysis, expected):
    table = analysis.get_temporal_breakdown(visualize=False)
    assert sorted(table["rank"]) == sorted(expected), f"ranks {sorted(table['rank'])}, and {sorted(expected)} are there"
    for _, row in table.iterrows():
        idle = 100 * (row["idle_time(us)"] + row["non_compute_time(us)"]) / row["kernel_time(us)"]
        print(f"{what}, rank {row['rank']:.0f}: HTA {idle:.3f} %, Weft {expected[row['rank']]:.3f} %")
        assert abs(idle - expected[row["rank"]]) <= MOST_POINTS, f"more than {MOST_POINTS} points apart"


def idle_share_with_dark(rank):
    """In percent of all time. HTA takes dark time for computation; the idle_share leaves it out."""
    return 100 * rank["idle"] / rank["window"]


def waited_for_host(run, rank):
    """Microseconds in which the host was late. Bubbles that follow each other are one gap, and the larger part counts."""
    [summary] = run.of("summary", rank)
    begin, end = summary["window_begin"], summary["window_end"]
    gaps = []
    for bubble in run.of("bubble", rank):
        opened, closed = max(bubble["opened"], begin), min(bubble["closed"], end)
        if gaps and gaps[-1]["end"] == opened:
            gap = gaps[-1]
        else:
            gap = {"begin": opened, True: 0, False: 0}
            gaps.append(gap)
        gap["end"] = closed
        gap[bubble["pattern"] in ("host_wait", "posted_early")] += closed - opened
    return sum(gap["end"] - gap["begin"] for gap in gaps if gap[True] > gap[False]) / 1e3


def check_causes(analysis, run):
    """On the stream that stands for computation."""
    table = analysis.get_idle_time_breakdown(ranks=run.ranks, visualize=False)[0]
    for rank in run.ranks:
        rows = table[(table["rank"] == rank) & (table["stream"] == 1) & (table["idle_category"] == "host_wait")]
        expected, found = waited_for_host(run, rank), rows["idle_time"].sum()
        print(f"rank {rank}: waited for the host for {found:.0f} us in HTA, {expected:.0f} us in Weft")
        assert abs(found - expected) <= 10 + 0.01 * expected


def main():
    weft, traces = sys.argv[1:]
    run = Run(traces)
    summary = json.loads(subprocess.run([weft, "summary", "--json", traces], check=True, capture_output=True).stdout)
    with tempfile.TemporaryDirectory() as folder:
        analysis = analysis_of(weft, traces, folder + "/whole")
        compare("whole run", analysis, {rank["rank"]: idle_share_with_dark(rank) for rank in summary["ranks"]})
        check_causes(analysis, run)
        overlap = analysis.get_comm_comp_overlap(visualize=False)
        assert len(overlap) == len(run.ranks) and overlap["comp_comm_overlap_pctg"].between(0, 100).all(), overlap
        assert len(analysis.get_gpu_kernel_breakdown(visualize=False)[1]) > 0
        window = analysis_of(weft, traces, folder + "/window", "--iterations", "4-8")
        compare("iterations 4-8", window, {rank: run.idle_share(rank, 4, 8) for rank in run.ranks})


main()
