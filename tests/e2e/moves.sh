#!/usr/bin/env bash
# A training that has a little too much device memory for a while, see takes_memory.c: memory that the fill job of that
# rank has marked goes to the host in bubbles, and comes back when there is enough again. Its units find in it what the
# unit before has left there, and the job is neither ended nor made ready a second time.
#   moves.sh SOURCE BUILD PROGRAM JOB CASE      CASE: bubbles; slack: also copied beside the training's work
set -uo pipefail
source_dir=$1 build=$2 program=$3 job=$4 case=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=2 SIMGPU_MEMORY=128MiB SIMGPU_HOST_BANDWIDTH=25e9 XDG_RUNTIME_DIR=$work
fail() { echo "$1"; tail -n 40 "$work/err"; exit 1; }
slack=off
[ "$case" = slack ] && slack=on

timeout 150 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" run --fill "$job:0,2097152,marked" \
  --memory 64MiB --set WEFT_HEADROOM=32MiB --set WEFT_SLACK_COPIES=$slack --slowdown-budget off --set log=info \
  --output "$work/trace" -- "$program" 32 >"$work/out" 2>"$work/err" || fail "the training fails"
grep -q 'fill job copy stands still: 2 MiB of its memory went to the host' "$work/err" || fail "it did not leave"
grep -q 'fill job copy goes on when its memory is back' "$work/err" || fail "it did not come back"
python3 - "$work" "$case" <<'CHECKS' || fail "the trace is not right"
import glob, json, sys

path, = glob.glob(sys.argv[1] + "/trace/rank1.*.jsonl")
lines = [json.loads(line) for line in open(path)]
of = lambda kind: [line for line in lines if line["type"] == kind]
assert [line["event"] for line in of("job")] == ["ready"], of("job")
memory = of("memory")
assert [line["event"] for line in memory] == ["reserved", "left", "came_back", "released"], memory
left, came_back = memory[1], memory[2]
assert came_back["time"] - left["time"] >= 2_000_000_000
assert memory[0]["reserved"] - left["reserved"] == 2 << 20 and came_back["reserved"] == memory[0]["reserved"], memory
for way in "to_host", "to_device":
    assert sum(line["bytes"] for line in of("move") if line["way"] == way) == 2 << 20, way
beside = [line for line in of("move") if line["bubble"] == 0]
assert bool(beside) == (sys.argv[2] == "slack"), beside
units = [line for line in of("slice") if line["unit_done"]]
assert all(line["correct"] for line in units)
assert not any(left["time"] < line["launched"] < came_back["time"] for line in of("slice"))
assert any(line["launched"] > came_back["time"] for line in units), "no unit after it"
assert any(line["launched"] < left["time"] for line in units), "no unit before it"
CHECKS
