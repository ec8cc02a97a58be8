#!/usr/bin/env bash
# Names of messages against the schedule of the training that sent them, for one schedule.
#   names.sh SOURCE BUILD CHECKER SCHEDULE RANKS MICROBATCHES
set -euo pipefail
source_dir=$1 build=$2 checker=$3 schedule=$4 ranks=$5 microbatches=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
export SIMGPU_DEVICES=$ranks
mkdir "$work/report"
timeout 250 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" run -q --observe --output "$work/trace" -- \
  "$build/bin/trainer" --launch "$ranks" --schedule "$schedule" --microbatches "$microbatches" --iterations 10 \
  --hidden 32 --sequence 16 --batch 2 --text LICENSE --report "$work/report" >"$work/log" 2>&1 \
  || { cat "$work/log"; exit 1; }
"$checker" "$work/trace" "$work/report"
"$build/bin/weft" summary --json "$work/trace" >"$work/summary.json"
python3 - "$work/summary.json" "$ranks" <<'PYTHON'
import json, sys

summary, ranks = json.load(open(sys.argv[1])), int(sys.argv[2])
assert [rank["pipeline"]["stage"] for rank in summary["ranks"]] == list(range(ranks)), summary["ranks"]
assert not [note for note in summary["notes"] if "named by" in note], summary["notes"]
for slot in summary["most_idle_slots"]:
    if slot["ordinal"] >= 0 and slot["cause"] in ("receive", "send"):
        assert slot["message"] and slot["phase"], slot
        assert slot["name"].startswith(f'{slot["message"]["payload"]} {slot["message"]["number"]} of '), slot
PYTHON
