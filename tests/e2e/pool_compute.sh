#!/usr/bin/env bash
# Compute on a stream of a large pool that is known by its launches only. Counted, it is never idle time. With
# WEFT_LAUNCHES=off it is reported as that, and start line, trace and summary say that it may be.
#   pool_compute.sh SOURCE BUILD PROGRAM QUEUES counted|uncounted
[ "$5" = counted ] || export WEFT_LAUNCHES=off
. "$(dirname "$0")/observed_case.sh"

"$build/bin/weft" summary "$work/trace" >"$work/summary" 2>&1 || fail "weft summary fails"
caution='launches are not counted (WEFT_LAUNCHES=off): a bubble may be reported, and filled, while a stream computes'
said=$([ "$case" = counted ] && echo 0 || echo 1)
[ "$(grep -cF "observing bubbles; $caution, 2 ranks" "$work/err")" -eq "$said" ] || fail "the start line"
[ "$(grep -cF "all ranks: $caution" "$work/summary")" -eq "$said" ] || fail "the summary"

PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" "$case" "$caution" <<'CHECKS' || fail "the trace is not right"
import sys

import truth

tool, work, case, caution = sys.argv[1:]
ranks, receiver = truth.compare_two(tool, work)
assert receiver.true > 0.1, receiver
for rank in ranks:
    assert rank.of("header")[0]["caution"] == ("" if case == "counted" else caution), rank.of("header")
if case == "counted":
    assert receiver.precision > 0.9 and receiver.covered > 0.85, receiver
else:
    assert receiver.precision < 0.7, (receiver, "the caution is not needed")
CHECKS
