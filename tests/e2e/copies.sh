#!/usr/bin/env bash
# Copies between host and device, and host functions, while a receive is pending: what Weft reports is held against what really ran.
#   copies.sh SOURCE BUILD PROGRAM QUEUES CASE
set -uo pipefail
source_dir=$1 build=$2 program=$3 queues=$4 case=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_TIME_SCALE=8 SIMGPU_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=$queues XDG_RUNTIME_DIR=$work
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
fail() { echo "copies: $1"; tail -n 40 "$work/err"; exit 1; }

mkdir "$work/truth"
SIMGPU_LOG=$work/truth timeout 100 "${simulated[@]}" "$build/bin/weft" run --observe --output "$work/trace" -- \
  "$program" "$case" 2>"$work/err" || fail "it fails with Weft"
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
