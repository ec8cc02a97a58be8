#!/usr/bin/env bash
# The last communicator is closed next to a receive that ends 0.4 s later: that time is in the trace, and what is over is
# not said to go on. See last_communicator.c.
#   last_communicator.sh SOURCE BUILD PROGRAM QUEUES CASE
. "$(dirname "$0")/observed_case.sh"

PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" "$case" <<'CHECKS' || fail "the trace is not right"
import sys

import truth

tool, work, case = sys.argv[1:]
ranks, receiver = truth.compare_two(tool, work)
for rank in ranks:
    assert not rank.of("anomaly"), rank.of("anomaly")
for rank in ranks:  # the last group of all is in it
    assert rank.summaries[-1]["uncertain"] <= rank.summaries[-1]["window_end"] - rank.summaries[-1]["window_begin"], rank
    assert case == "abort" or all(group["ended"] for group in rank.of("group")), rank.of("group")[-1]
longest = max(bubble["closed"] - bubble["opened"] for bubble in receiver.of("bubble"))
if case == "abort":
    assert longest < 250_000_000, longest
else:
    assert longest > 350_000_000, longest
    assert receiver.coverage > 0.95 and receiver.precision > 0.95, receiver
CHECKS
