#!/usr/bin/env bash
# A host that launches far ahead of a receive, as far as its hardware queues let it: with Weft it ends as without, and what was not followed is
# uncertain time.
#   launch_ahead.sh SOURCE BUILD PROGRAM CASE QUEUES ARGUMENT...
set -uo pipefail
source_dir=$1 build=$2 program=$3 case=$4 queues=$5
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Slower still where scripts/sanitize asks for it.
export SIMGPU_TIME_SCALE=$((8 * ${SIMGPU_TIME_SCALE:-1})) SIMGPU_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=$queues XDG_RUNTIME_DIR=$work
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
fail() { echo "launch_ahead: $1"; tail -n 40 "$work/err"; exit 1; }

timeout 60 "${simulated[@]}" "$program" "$@" 2>"$work/err" || fail "it does not end without Weft"
mode=(--observe)
[ "$case" != full_filled ] || mode=(--fill "$build/lib/weft/fill_matmul.so")
mkdir "$work/truth"
SIMGPU_LOG=$work/truth timeout 120 "${simulated[@]}" "$build/bin/weft" run "${mode[@]}" --output "$work/trace" -- \
  "$program" "$@" 2>"$work/err" || fail "it does not end with Weft"
[ "$case" != full_filled ] || exit 0
"$build/bin/weft" summary "$work/trace" >"$work/summary" 2>&1 || fail "weft summary fails"
PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" "$case" <<'CHECKS' || fail "the trace is not right"
import sys

import truth

tool, work, case = sys.argv[1:]
summed_up = open(work + "/summary").read()
ranks, receiver = truth.compare_two(tool, work)
for rank in ranks:
    assert not any(record["stops_filling"] for record in rank.of("anomaly")), rank.of("anomaly")
assert receiver.true > 0.2 and receiver.covered > 0.9, receiver
assert receiver.precision > 0.9 or receiver.idle < 0.05, receiver
if case == "full":
    # The host stands in a launch: the receive is why, and not the host.
    assert receiver.coverage > 0.85 and receiver.uncertain < 0.05, receiver
    assert not any(cause.startswith("host wait outside CUDA") for cause in receiver.causes), receiver
elif case == "receives":
    # Most of them have no markers. In the other cases little time goes by once the first receive is over.
    cause = "more is outstanding on a stream than is followed"
    assert cause in receiver.causes and cause in summed_up, (receiver, summed_up)
CHECKS
