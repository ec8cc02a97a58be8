#!/usr/bin/env bash
# Several fill jobs beside each other on simulated GPUs: each unit is right, one that cannot start is refused alone, one
# that has done its units ends alone, and traces, summary and end lines name them.
#   several_jobs.sh SOURCE BUILD MATMUL BAD
set -euo pipefail
source_dir=$1 build=$2 matmul=$3 bad=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"

train() {  # name, fill, more options
  timeout 380 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" run --fill "$2" --set log=info --output "$work/$1" "${@:3}" -- \
    "$build/bin/trainer" --launch 4 --iterations 14 --text LICENSE >"$work/$1.log" 2>"$work/$1.messages"
  cat "$work/$1.messages"
  "$build/bin/weft" summary "$work/$1" | tee "$work/$1.text"
  "$build/bin/weft" summary --json "$work/$1" >"$work/$1.json"
}

cat >"$work/jobs.toml" <<EOF
policy = "priority"
[[job]]
fill = "$matmul:size=64"
name = "first"
priority = 2
units = 5
[[job]]
fill = "$bad"
[[job]]
fill = "$matmul:size=32,products=4"
name = "small"
memory = "32MiB"
[[job]]
fill = "$matmul:size=64"
name = "second"
priority = 1
EOF
train file "@$work/jobs.toml"
grep -q 'observing only' "$work/file.messages" && exit 1
grep -q 'filling bubbles with first, small, second' "$work/file.messages"
grep -q "weft: warning: rank 0: fill job $bad: init failed" "$work/file.messages"
python3 - "$work" <<'PYTHON'
import glob, json, sys

total = json.load(open(sys.argv[1] + "/file.json"))["total"]
jobs = {job["name"]: job for job in total["jobs"]}
assert set(jobs) == {"first", "small", "second"}, jobs
assert jobs["first"]["units"] == 4 * 5, jobs
assert jobs["second"]["units"] > 0, jobs
assert all(job["units_wrong"] == 0 for job in jobs.values()), jobs
assert sum(job["units"] for job in jobs.values()) == total["fill_units"], total
assert abs(sum(job["filled"] for job in jobs.values()) - total["filled"]) < 10, total
assert not total["filling_stopped"], total
for path in glob.glob(sys.argv[1] + "/file/rank*.jsonl"):
    lines = [json.loads(line) for line in open(path)]
    events = [(line["job"], line["event"]) for line in lines if line.get("type") == "job"]
    assert sorted(events) == [(0, "done"), (0, "ready"), (1, "refused"), (2, "ready"), (3, "ready")], events
    done = next(line["time"] for line in lines if line.get("type") == "job" and line["event"] == "done")
    after = {line["job"] for line in lines if line.get("type") == "slice" and line["launched"] > done}
    assert 0 not in after, after
PYTHON

# The second one waits for the memory of the first.
cat >"$work/waiting.toml" <<EOF
[[job]]
fill = "$matmul:size=64"
name = "first"
units = 3
memory = "40MiB"
[[job]]
fill = "$matmul:size=32"
name = "second"
memory = "40MiB"
[[job]]
fill = "$matmul:size=64"
name = "never"
memory = "40MiB"
EOF
train waiting "@$work/waiting.toml" --memory 64MiB
python3 - "$work" <<'PYTHON'
import glob, json, sys

total = json.load(open(sys.argv[1] + "/waiting.json"))["total"]
jobs = {job["name"]: job for job in total["jobs"]}
assert jobs["first"]["units"] == 4 * 3, jobs
assert jobs["second"]["units"] > 0 and jobs["second"]["units_wrong"] == 0, jobs
assert not total["filling_stopped"], total
for path in glob.glob(sys.argv[1] + "/waiting/rank*.jsonl"):
    events = [line for line in map(json.loads, open(path)) if line.get("type") in ("job", "memory")]
    kinds = [(line["job"], line["event"]) for line in events if line["type"] == "job"]
    assert sorted(kinds) == [(0, "done"), (0, "ready"), (1, "ready"), (2, "refused")], kinds
    assert kinds.index((0, "done")) < kinds.index((1, "ready")), kinds
    assert max(line["reserved"] for line in events if line["type"] == "memory") <= 64 << 20, events
PYTHON

grep -q 'fill job never does not fit beside fill jobs that never end' "$work/waiting.messages"
grep -q 'fill job 2, never, was not run: ' "$work/waiting.text"

train list "$matmul:size=64;$matmul:size=32,products=4"
python3 - "$work/list.json" <<'PYTHON'
import json, sys

total = json.load(open(sys.argv[1]))["total"]
assert [job["name"] for job in total["jobs"]] == ["matmul", "matmul"], total["jobs"]
assert total["fill_units_wrong"] == 0 and total["fill_units"] > 0, total
PYTHON
losses() { sed 's/  [0-9.]* ms$//' "$1"; }
diff <(losses "$work/file.log") <(losses "$work/list.log")
