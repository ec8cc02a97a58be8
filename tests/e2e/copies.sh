#!/usr/bin/env bash
# Copies between host and device, and host functions, while a receive is pending: what Weft reports is held against what really ran.
#   copies.sh SOURCE BUILD PROGRAM QUEUES CASE
. "$(dirname "$0")/observed_case.sh"

PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" "$case" "$queues" <<'CHECKS' || fail "the trace is not right"
import sys

import truth

tool, work, case, queues = sys.argv[1:]
ranks, receiver = truth.compare_two(tool, work)
for rank in ranks:
    assert not rank.of("anomaly"), rank.of("anomaly")
assert receiver.true > 0.3 or case == "graph", receiver
# In small pieces, each with two ends.
assert receiver.precision > 0.9, receiver
if case == "graph":  # such a graph counts as compute: idle time is missing
    sys.exit()
assert receiver.covered > 0.93, receiver
# It is learned in the first iterations, of few, which streams have hardware queues of their own.
assert receiver.uncertain < (0.15 if int(queues) >= 8 else 0.2), receiver
CHECKS
