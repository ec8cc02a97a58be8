#!/usr/bin/env bash
# CUDA_DEVICE_MAX_CONNECTIONS=1: iterations are reported, and start line, end lines, trace and summary say that idle time
# is unknown. That nothing is enqueued is tested in tests/shim/groups_test.cpp and tests/runner/core/unmarked_test.cpp.
#   one_queue.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
reason="one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)"
export SIMGPU_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=1
fail() { echo "one_queue: $1"; echo "--- stdout"; cat "$work/out"; echo "--- stderr"; cat "$work/err"; exit 1; }
# As in that file, or not.
says() { grep -qF -- "$1" "$work/$2" || fail "$2 does not say: $1"; }

timeout 120 "${simulated[@]}" "$build/bin/weft" run --observe --output "$work/trace" -- "$build/bin/trainer" --launch 2 \
  --iterations 10 --microbatches 4 --hidden 16 --sequence 8 --batch 2 --text "$source_dir/LICENSE" >"$work/out" 2>"$work/err" ||
  fail "the training fails"
says "$reason: bubbles are not measured, idle time is unknown" err
says "weft: rank 0: idle time unknown: $reason" err
! grep -q "bubbles for" "$work/err" || fail "an idle share is claimed"
"$build/bin/weft" summary "$work/trace" >"$work/out" 2>"$work/err" || fail "no summary"
says "note: idle time unknown, bubbles were not measured, on all ranks: $reason" out
grep -qE '^ *0 +[1-9][0-9]* +[0-9.]*[1-9][0-9.]* +unknown +unknown ' "$work/out" || fail "iterations are known, idle time is not"
! grep -h '"type": "bubble"' "$work"/trace/* || fail "a bubble is claimed"
