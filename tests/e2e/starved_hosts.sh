#!/usr/bin/env bash
# Eight ranks on two processors, on the simulated GPU: Weft's threads look late. Idle time may be wrong by that much, and
# the summary must say how much; the ends of bubbles must lie where their records say they do.
#   starved_hosts.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "starved_hosts: $1"; tail -n 40 "$work/err"; exit 1; }
two=()
if command -v taskset >/dev/null && taskset -c 0,1 true 2>/dev/null; then two=(taskset -c 0,1); fi
mkdir "$work/truth"
export SIMGPU_DEVICES=8 SIMGPU_LOG=$work/truth SIMGPU_SCHEDULING=realtime XDG_RUNTIME_DIR=$work
timeout 380 "${two[@]}" "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" run --observe \
  --output "$work/trace" -- "$build/bin/trainer" --launch 8 --iterations 20 --text "$source_dir/LICENSE" >"$work/err" 2>&1 ||
  fail "the training fails"
"$build/bin/weft" summary --json "$work/trace" >"$work/summary" 2>>"$work/err" || fail "weft summary fails"
PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" <<'CHECKS' || fail "the trace is not right"
import json
import sys

import truth

LEAST_RIGHT = 0.98  # of the ends of bubbles of all ranks
MOST_WRONG = 0.05  # of a rank's; four where it has few
RESOLUTION = 0.002  # of the window: gaps between dependent kernels, and what a look of a moment costs

tool, work = sys.argv[1:]
summary = json.load(open(work + "/summary", encoding="utf-8"))
said = {rank["rank"]: rank for rank in summary["ranks"]}
number, number_right = 0, 0
ranks = truth.compare_all(tool, work, "--shortest", "10000")
assert len(ranks) == len(said) == 8, ranks
for rank in ranks:
    told = said[rank.records[0]["rank"]]
    # As the note of the summary reckons it.
    known_to = max(told["bubbles"] * told["end_uncertainty"], told["idle_near_ends"]) / told["window"]
    ends = truth.ends_of_bubbles(rank)
    right = sum(end.is_right for end in ends)
    number, number_right = number + len(ends), number_right + right
    print(f"{rank.name}: idle {rank.idle:.2%} true {rank.true:.2%} known to {known_to:.2%}, uncertain {rank.uncertain:.2%}, "
          f"{len(ends)} ends, {right} where they are said to be", file=sys.stderr)
    assert told["dropped_records"] == 0 and told["bubbles"] >= 10 and rank.true > 0.1, told
    assert abs(told["idle_share"] - rank.idle) < 0.001, (told["idle_share"], rank.idle)
    assert rank.true - rank.uncertain - known_to - RESOLUTION <= rank.idle <= rank.true + known_to + RESOLUTION, rank
    assert len(ends) - right <= max(4, MOST_WRONG * len(ends)), rank
    if known_to > 0.01:
        note = f"rank {told['rank']}: Weft's thread was late"
        assert any(text.startswith(note) for text in summary["notes"]), (note, summary["notes"])
assert number_right >= LEAST_RIGHT * number, (number_right, number)
CHECKS
