#!/usr/bin/env bash
# A training that has much device memory for a while, see takes_memory.c: the fill job of that rank gives its memory back
# before an allocation fails, rests, and goes on with its units when there is memory again. Each unit counts once. A job of
# a queue goes back to it meanwhile, and comes again.
#   rest.sh SOURCE BUILD PROGRAM JOB CASE      CASE: listed, queued
set -uo pipefail
source_dir=$1 build=$2 program=$3 job=$4 case=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=2 SIMGPU_MEMORY=128MiB XDG_RUNTIME_DIR=$work
fail() { echo "$1"; tail -n 40 "$work/err"; exit 1; }
why='less device memory was left to the training than the 32 MiB of WEFT_HEADROOM'

if [ "$case" = queued ]; then
  export WEFT_QUEUE=$work/queue
  "$build/bin/weft" jobs submit "$job:4,4096" --memory 64MiB --units 100000 >/dev/null 2>"$work/err" || fail "it is not submitted"
  fill=() said="goes back to the queue: $why" again='filling with copy_job#1 begins, after '
else
  fill=(--fill "$job:4,4096" --checkpoint "$work/progress")
  said="rests: $why" again='filling goes on, after a rest; the training stood for '
fi
timeout 150 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" run "${fill[@]}" --memory 64MiB \
  --set WEFT_HEADROOM=32MiB --slowdown-budget off --set log=info --output "$work/trace" -- "$program" >"$work/out" 2>"$work/err" ||
  fail "the training fails"
grep -q "fill job copy.* $said" "$work/err" || fail "it did not give its memory back"
grep -q 'needed the memory' "$work/err" && fail "an allocation failed"
grep -q "$again" "$work/err" || fail "it did not go on"
# The feeder ends a moment after the command, and the queue knows all units then.
if [ "$case" = queued ]; then
  for ((look = 0; look < 200; ++look)); do
    "$build/bin/weft" jobs show 1 --json >"$work/show" || fail "the queue has lost the job"
    grep -q '"at_work": *\[\]' "$work/show" && break
    sleep 0.1
  done
  [ "$look" -lt 200 ] || fail "the job is at work after the end of the training"
fi
python3 - "$work" <<'CHECKS' || fail "the trace is not right"
import glob, json, os, sys

work = sys.argv[1]
path, = glob.glob(work + "/trace/rank1.*.jsonl")
lines = [json.loads(line) for line in open(path)]
jobs = [line for line in lines if line["type"] == "job"]
assert [line["event"] for line in jobs][:3] == ["ready", "withdrawn", "ready"], jobs  # a busy machine may change more
assert "WEFT_HEADROOM" in jobs[1]["why"], jobs[1]
rested = jobs[2]["time"] - jobs[1]["time"]
assert rested >= 2_000_000_000, rested
memory = [line["event"] for line in lines if line["type"] == "memory"]
assert memory[:4] == ["reserved", "rescued", "released", "reserved"], memory
slices = [line["launched"] for line in lines if line["type"] == "slice"]
assert not any(jobs[1]["time"] < launched < jobs[2]["time"] for launched in slices)
summary, = [line for line in lines if line["type"] == "summary"]
assert not summary["filling_stopped"], summary
after = sum(line["unit_done"] for line in lines if line["type"] == "slice" and line["launched"] > jobs[2]["time"])
assert 0 < after < summary["fill_units"] and summary["fill_units_wrong"] == 0, (after, summary)
if os.path.exists(work + "/show"):
    units = json.load(open(work + "/show"))["done"]
else:
    units = int.from_bytes(open(work + "/progress/rank1.progress", "rb").read()[-8:], sys.byteorder)
assert units == summary["fill_units"], (units, summary["fill_units"])
CHECKS
