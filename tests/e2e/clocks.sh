#!/usr/bin/env bash
# The traces of a real run (simulated GPUs), two of whose ranks are moved to another host with a clock of its own: what
# weft summary, weft export and weft.load find of that clock, against the truth.
#   clocks.sh SOURCE BUILD [TRACES]    TRACES: of four ranks, in place of a run
set -euo pipefail
source_dir=$1 build=$2 traces=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
if [ -z "$traces" ]; then
  export SIMGPU_DEVICES=4
  traces=$work/trace
  timeout 250 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" run -q --observe --output "$traces" -- \
    "$build/bin/trainer" --launch 4 --schedule 1f1b --microbatches 8 --iterations 30 --hidden 32 --sequence 16 \
    --batch 2 --text LICENSE >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
fi
ahead=86400123456789 ppm=19.9 wall=5012000
begin=$(python3 tests/e2e/other_host.py docs/trace.md "$traces" "$work/moved" 2,3 beta "$ahead" "$ppm" "$wall")
"$build/bin/weft" summary "$work/moved" | grep '^clocks: host beta is .* ahead of host .*, within .* (from .* message' \
  || { echo "the summary does not say it"; "$build/bin/weft" summary "$work/moved" | tail; exit 1; }
"$build/bin/weft" summary --json "$work/moved" >"$work/summary.json"
"$build/bin/weft" export "$work/moved" --csv "$work/csv" --perfetto "$work/run.pftrace" --kineto "$work/kineto" \
  2>"$work/err" || { cat "$work/err"; exit 1; }
grep -q '^weft: note: clocks: host beta is .* ahead of host ' "$work/err" \
  || { echo "the export does not say it"; cat "$work/err"; exit 1; }
! grep -q 'arrived before they were sent' "$work/err" || { echo "arrows run backwards"; cat "$work/err"; exit 1; }
PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 python3 tests/e2e/clocks.py "$traces" "$work" "$begin" "$ahead" "$ppm" \
  "$wall" "$build/bin/weft"

# Without groups the wall clocks count, and that is said.
mkdir "$work/without"
for trace in "$work"/moved/*.jsonl; do grep -v '^{"type": "group"' "$trace" >"$work/without/$(basename "$trace")"; done
"$build/bin/weft" summary "$work/without" >"$work/text"
grep -q '^note: clocks: host beta: its traces have no groups .*; put beside host .* by wall clocks' "$work/text" \
  || { echo "nothing is said about missing groups"; cat "$work/text"; exit 1; }
