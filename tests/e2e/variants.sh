#!/usr/bin/env bash
# A fill job with variants on simulated GPUs: the first one does not fit in the memory cap, the second one runs, its
# units are right, and trace, summary and end lines say which one it was.
#   variants.sh SOURCE BUILD MATMUL
set -euo pipefail
source_dir=$1 build=$2 matmul=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"

cat >"$work/jobs.toml" <<EOF
[[job]]
fill = "$matmul"
name = "tune"
variants = ["size=1024", "size=64"]   # 12 MiB and more; 48 KiB and more
EOF
timeout 380 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" run --fill "@$work/jobs.toml" --memory 8MiB \
  --set log=info --output "$work/trace" -- \
  "$build/bin/trainer" --launch 2 --iterations 14 --text LICENSE >"$work/log" 2>"$work/messages"
cat "$work/messages"
"$build/bin/weft" summary "$work/trace" | tee "$work/text"
"$build/bin/weft" summary --json "$work/trace" >"$work/json"
grep -q 'observing only' "$work/messages" && exit 1
grep -q 'another variant of it may run' "$work/messages"
grep -q 'units of tune (size=64), 0 of them wrong' "$work/messages"
grep -q '^job 0, tune (size=64): ' "$work/text"
python3 - "$work" <<'PYTHON'
import glob, json, sys

total = json.load(open(sys.argv[1] + "/json"))["total"]
assert [job["variant"] for job in total["jobs"]] == ["size=64"], total["jobs"]
assert total["fill_units"] > 0 and total["fill_units_wrong"] == 0, total
paths = glob.glob(sys.argv[1] + "/trace/rank*.jsonl")
assert len(paths) == 2, paths
for path in paths:
    lines = [line for line in map(json.loads, open(path)) if line.get("type") == "job"]
    said = [(line["event"], line["variant"], line["why"]) for line in lines]
    assert said == [("ready", "size=64", "size=1024 does not fit in 8 MiB")], said
PYTHON
