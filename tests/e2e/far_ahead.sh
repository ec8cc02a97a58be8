#!/usr/bin/env bash
# A host hundreds of groups ahead of the GPU: iterations whose ends nobody saw are left out, and said; no iteration has
# another length than it had, the window reaches to the end, and what is not known in it is uncertain. See far_ahead.c.
#   far_ahead.sh SOURCE BUILD PROGRAM QUEUES CASE
. "$(dirname "$0")/observed_case.sh"

PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" <<'CHECKS' || fail "the trace is not right"
import statistics
import sys

import truth

tool, work = sys.argv[1:]
ranks, _ = truth.compare_two(tool, work)
for rank in ranks:
    print(rank)
    summary = rank.of("summary")[-1]
    window = summary["window_end"] - summary["window_begin"]
    assert 0.1 * window < summary["uncertain"] < 0.9 * window, "nothing was left without a marker, or all"
    assert rank.precision > 0.95 and rank.covered > 0.95, rank
    iterations = rank.of("iteration")
    assert len(iterations) >= 5, iterations
    assert [i["number"] for i in iterations] == sorted(i["number"] for i in iterations), iterations
    lengths = [i["ended"] - i["started"] for i in iterations]
    middle = statistics.median(lengths)
    assert all(abs(length - middle) < 0.1 * middle for length in lengths), lengths
    # 40 of them, but for what the first ones take.
    assert 38 * middle < window < 44 * middle, (window, middle)
    assert any("not counted" in record["text"] for record in rank.of("anomaly")), rank.of("anomaly")
CHECKS
