#!/usr/bin/env bash
# Replayed CUDA graphs that wait for a receive through an event node, or record events in one: what Weft reports is held against what really ran.
#   graph_events.sh SOURCE BUILD PROGRAM QUEUES CASE
. "$(dirname "$0")/observed_case.sh"

"$build/bin/weft" summary "$work/trace" >"$work/summary" 2>&1 || fail "weft summary fails"
PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" "$case" <<'CHECKS' || fail "the trace is not right"
import sys

import truth

tool, work, case = sys.argv[1:]
summed_up = open(work + "/summary").read()
ranks, receiver = truth.compare_two(tool, work)
for rank in ranks:
    assert not rank.of("anomaly"), rank.of("anomaly")
# Most of its time it waits for the other rank, and none of that is lost.
assert receiver.true > 0.3 and receiver.covered > 0.95, receiver
assert receiver.precision > 0.95 or receiver.idle < 0.05, receiver
if case == "records":
    assert receiver.coverage > 0.9, receiver
    sys.exit()
cause = "waiting graph: "
assert cause in "".join(receiver.causes) and cause in summed_up, (receiver, summed_up)
# Where nothing in the graph runs before the wait it is known that the GPU is idle, until the receive is over.
if case in ("head", "by_hand", "updated"):
    assert receiver.coverage > 0.9, receiver
CHECKS
