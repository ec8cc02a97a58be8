#!/usr/bin/env bash
# More streams than hardware queues: the interleaved trainer uses eleven, and with eight queues it works only because of
# which of them share one. Weft must not change that: the run finishes with the same losses, filling is off, and one line
# of each rank says why and what to do. With enough queues the same run is filled.
#   too_many_streams.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trainer=("$build/bin/trainer" --launch 4 --schedule interleaved --iterations 10 --microbatches 8 --hidden 16 --sequence 8 --batch 2
         --text "$source_dir/LICENSE")
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
fill=$build/lib/weft/fill_matmul.so:size=32,products=4
export SIMGPU_DEVICES=4
losses() { sed 's/  [0-9.]* ms$//' "$1"; }
fail() { echo "too_many_streams: $1"; echo "--- stderr"; cat "$work/err"; exit 1; }

# Runs under Weft with so many queues; what was said is in $work/err.
filled() {
  CUDA_DEVICE_MAX_CONNECTIONS=$1 timeout 120 "${simulated[@]}" "$build/bin/weft" run -q --output "$work/trace-$1" \
    --fill "$fill" -- "${trainer[@]}" >"$work/out" 2>"$work/err"
  [ $? -eq 0 ] || fail "the training does not finish with $1 queues"
  diff <(losses "$work/plain") <(losses "$work/out") >/dev/null || fail "the losses differ with $1 queues"
}

CUDA_DEVICE_MAX_CONNECTIONS=8 timeout 60 "${simulated[@]}" "${trainer[@]}" >"$work/plain" 2>"$work/err" ||
  fail "the training fails without Weft"
message="rank [0-3]: filling is off .*the training uses [0-9]* streams, .* 8 hardware queues: set CUDA_DEVICE_MAX_CONNECTIONS=32"
filled 8
[ "$(grep -c -E "^weft: warning: $message" "$work/err")" -eq 4 ] || fail "not one line of each rank with: $message"
[ "$(grep -c "hardware queues" "$work/err")" -le 5 ] || fail "said more than once by a rank, besides the end lines"
filled 32
! grep -q "hardware queues" "$work/err" || fail "32 queues are enough"
