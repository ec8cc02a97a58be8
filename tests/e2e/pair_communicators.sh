#!/usr/bin/env bash
# A fill job that hangs in its trial, and four ranks that open pair communicators one after the other: what they wait for
# Weft does not add up along the pipeline.
#   pair_communicators.sh SOURCE BUILD JOB PROGRAM
set -uo pipefail
source_dir=$1 build=$2 job=$3 program=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=4 XDG_RUNTIME_DIR=$work
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")

fail() { echo "$1"; cat "$work/err"; exit 1; }
plain=$(timeout 60 "${simulated[@]}" "$program" 2>"$work/err") || fail "it fails without Weft"
timeout 150 "${simulated[@]}" "$build/bin/weft" run -q --fill "$job" --output "$work/trace" -- "$program" >"$work/out" 2>"$work/err" ||
  fail "it fails with Weft"
seconds=$(cat "$work/out")
# Once 5 s in a row of ranks that share the trial; two of them in a row would be 10, three 15. A sanitizer takes its time.
most=$(awk -v scale="${SIMGPU_TIME_SCALE:-1}" 'BEGIN { print (scale > 1 ? 14 : 9) }')
[ "$seconds" -le $((plain + most)) ] || fail "the ranks took $seconds s, without Weft $plain"
[ "$seconds" -ge 4 ] || fail "the ranks took $seconds s: the trial was not waited for"
grep -q 'is not over yet' "$work/err" || fail "nothing was said"
[ "$(find "$work" -name 'weft-*-trials' -exec ls {} + | wc -l)" -eq 1 ] || fail "the ranks did not share one trial"
