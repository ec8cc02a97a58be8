#!/usr/bin/env bash
# Iterations 58 to 63 are dark, on all ranks and with a fill job or without: nothing in them is marked but what ends
# them, no bubble and no uncertain time lies in them, and no share counts them. Their recording replays.
#   dark.sh SOURCE BUILD MATMUL
set -euo pipefail
source_dir=$1 build=$2 matmul=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"

train() {  # name, way of waiting, options of weft run
  timeout 200 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" run -q "${@:3}" --output "$work/$1" -- \
    "$build/bin/trainer" --launch 2 --iterations 78 --microbatches 4 --hidden 32 --sequence 16 --batch 2 --wait "$2" \
    --text LICENSE >"$work/$1.log" 2>"$work/$1.err" || { cat "$work/$1.err"; exit 1; }
}
train observed host --observe
train filled event --fill "$matmul:size=64" --slowdown-budget 5% --record on
train unlimited event --fill "$matmul:size=64" --slowdown-budget off
for run in observed filled unlimited; do "$build/bin/weft" summary --json "$work/$run" >"$work/$run.json"; done

python3 - "$work" <<'PYTHON'
import glob, json, sys

work = sys.argv[1]

def records(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]

for run in ("observed", "filled"):
    traces = sorted(glob.glob(f"{work}/{run}/*.jsonl"))
    assert len(traces) == 2, traces
    for path in traces:
        kinds = {}
        for record in records(path):
            kinds.setdefault(record["type"], []).append(record)
        iterations = [each for each in kinds["iteration"] if each["dark"]]
        assert [each["turn"] for each in iterations] == list(range(58, 64)), (path, iterations)
        assert all(each["idle"] is None for each in iterations), iterations
        # One record for each iteration, and no time in between.
        assert len(kinds["dark"]) == 6, kinds["dark"]
        for one, next_one in zip(kinds["dark"], kinds["dark"][1:]):
            assert one["ended"] == next_one["began"], kinds["dark"]
        dark = {"began": kinds["dark"][0]["began"], "ended": kinds["dark"][-1]["ended"]}
        for each in kinds["bubble"]:
            assert each["closed"] <= dark["began"] or each["opened"] >= dark["ended"], (dark, each)
        for each in kinds.get("uncertain", []):
            assert each["ended"] <= dark["began"] or each["began"] >= dark["ended"], (dark, each)
        numbers = {each["number"] for each in iterations}
        inside = [each for each in kinds["group"] if each["iteration"] in numbers]
        marked = [each for each in inside if each["ended"] is not None]
        # The hooks hear of it a look later, and each iteration ends with a group that is marked.
        assert 6 <= len(marked) <= len(inside) / 2, (path, len(marked), len(inside))
        assert len(kinds["watching"]) == 1 and kinds["watching"][0]["dark"] == 4, kinds["watching"]
        summary = kinds["summary"][0]
        assert summary["dark"] == dark["ended"] - dark["began"], summary
        with open(f"{work}/{run}.json") as text:
            shown = [rank for rank in json.load(text)["ranks"] if rank["dark"] == summary["dark"]]
        window = summary["window_end"] - summary["window_begin"] - summary["dark"]
        assert any(abs(rank["idle_share"] - summary["idle"] / window) < 1e-6 for rank in shown), (summary, shown)

for path in glob.glob(f"{work}/unlimited/*.jsonl"):
    assert not [each for each in records(path) if each["type"] in ("dark", "watching")], path
PYTHON

"$build/bin/weft" replay "$work"/filled/*.weftrec >"$work/replay.text"
[ "$(grep -c ': as recorded$' "$work/replay.text")" -eq 2 ] || { cat "$work/replay.text"; exit 1; }
grep -q 'watching costs' "$work/filled.err" || { echo "no end line about watching"; cat "$work/filled.err"; exit 1; }
