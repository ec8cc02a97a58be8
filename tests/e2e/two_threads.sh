#!/usr/bin/env bash
# A fill job that is made ready late, at a quiet moment of one thread, while another one begins a receive that waits for
# the first: see two_threads.c.
#   two_threads.sh SOURCE BUILD JOB PROGRAM
set -uo pipefail
source_dir=$1 build=$2 job=$3 program=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=2 SIMGPU_HAZARDS=measured XDG_RUNTIME_DIR=$work WEFT_LOG=info
fail() { echo "$1"; tail -n 40 "$work/err"; exit 1; }

timeout 100 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" run -q --fill "$job:12,4096,tried6frees" \
  --memory 64MiB --slowdown-budget off --output "$work/trace" -- "$program" 20 >"$work/out" 2>"$work/err" ||
  fail "the training hangs or fails ($?)"
[ "$(grep -c 'is not over yet' "$work/err")" -ge 1 ] || fail "the trial was not late"
[ "$(grep -c 'filling begins, after a late trial' "$work/err")" -ge 1 ] || fail "no job was made ready late"
