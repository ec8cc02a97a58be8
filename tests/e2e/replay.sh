#!/usr/bin/env bash
# A training is observed, another one is filled, both are recorded under the real preload; their replay gives the traces
# that were written live, line by line.
#   replay.sh SOURCE BUILD MATMUL
set -euo pipefail
source_dir=$1 build=$2 matmul=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"

train() {  # name, more options
  timeout 200 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" run -q "${@:2}" --output "$work/$1" -- \
    "$build/bin/trainer" --launch 2 --iterations 24 --microbatches 4 --hidden 32 --sequence 16 --batch 2 --text LICENSE \
    >"$work/$1.log" 2>"$work/$1.err" || { cat "$work/$1.err"; exit 1; }
}
train observed --observe --record on
train filled --fill "$matmul:size=64" --slowdown-budget 5% --record on
train unrecorded --observe
[ -z "$(find "$work/unrecorded" -name '*.weftrec')" ] || { echo "a recording that nobody wanted"; exit 1; }

for run in observed filled; do
  [ "$(find "$work/$run" -name 'rank[01].*.weftrec' | wc -l)" -eq 2 ] || { echo "$run: no recordings"; ls "$work/$run"; exit 1; }
  "$build/bin/weft" replay --output "$work/$run.again" "$work/$run"/*.weftrec | tee "$work/$run.text"
  [ "$(grep -c ': as recorded$' "$work/$run.text")" -eq 2 ] || { echo "$run: decides otherwise"; exit 1; }
  "$build/bin/weft" replay --json "$work/$run"/*.weftrec >"$work/$run.json"
done

python3 - "$work" <<'PYTHON'
import glob, json, os, sys

work = sys.argv[1]
least = 20 if "SIMGPU_TIME_SCALE" in os.environ else 50  # of an instrumented host, see scripts/sanitize
for run in ("observed", "filled"):
    for live in glob.glob(f"{work}/{run}/*.jsonl"):
        with open(live) as one, open(os.path.join(f"{work}/{run}.again", os.path.basename(live))) as other:
            lines, again = one.read().splitlines(), other.read().splitlines()
        headers = [json.loads(text[0]) for text in (lines, again)]
        for header in headers:
            del header["wall_clock"]  # read anew for each file
        assert headers[0] == headers[1], headers
        assert lines[1:] == again[1:], next(pair for pair in zip(lines[1:], again[1:]) if pair[0] != pair[1])
        kinds = {json.loads(line)["type"] for line in lines}
        assert {"bubble", "iteration", "group", "clock", "communicator", "summary"} <= kinds, kinds
        assert ("slice" in kinds) == ("job" in kinds) == ("memory" in kinds) == (run == "filled"), kinds
    replayed = json.load(open(f"{work}/{run}.json"))["replayed"]
    assert sorted(device["rank"] for device in replayed) == [0, 1], replayed
    for device in replayed:
        assert device["differences"] == 0 and device["records_compared"] and device["cut"] is None, device
        assert (device["launches"] > least) == (run == "filled"), device
PYTHON
