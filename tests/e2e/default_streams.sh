#!/usr/bin/env bash
# Idle time where CUDA orders streams by itself, and where waits come round: as much as there is, and next to none
# uncertain. See default_streams.c.
#   default_streams.sh SOURCE BUILD PROGRAM QUEUES CASE
. "$(dirname "$0")/observed_case.sh"

PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" <<'CHECKS' || fail "the trace is not right"
import sys

import truth

tool, work = sys.argv[1:]
ranks, _ = truth.compare_two(tool, work)
for rank in ranks:
    assert not rank.of("anomaly"), rank.of("anomaly")
    assert rank.true > 0.05 and abs(rank.idle - rank.true) < 0.03, rank
    assert rank.precision > 0.95 and rank.coverage > 0.95 and rank.uncertain < 0.01, rank
CHECKS
