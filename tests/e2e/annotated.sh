#!/usr/bin/env bash
# A program that says where it is, with and without Weft, on the simulated GPU.
#   right    iterations, stage, microbatches and bubbles are in the trace as they were said, but no bubble while a set ran
#   wrong    contradictions are counted and named once each; nothing else changes
#   many     what is said displaces nothing that the program does: it is left out, and the summary says so
#   filled   a bubble that is said is filled like another one
#   trainer  the trainer says iterations, stage, chunk and microbatches; its losses are the same
#   annotated.sh SOURCE BUILD PROGRAM CASE
set -uo pipefail
source_dir=$1 build=$2 program=$3 case=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=2 XDG_RUNTIME_DIR=$work
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
fail() { echo "annotated: $1"; tail -n 40 "$work/err"; exit 1; }

if [ "$case" = trainer ]; then
  trainer=("$build/bin/trainer" --launch 2 --iterations 12 --schedule interleaved --microbatches 4 --hidden 32 --sequence 16
    --batch 2 --text "$source_dir/LICENSE")
  losses() { sed 's/  [0-9.]* ms$//' "$1"; }
  timeout 100 "${simulated[@]}" "${trainer[@]}" >"$work/plain" 2>"$work/err" || fail "the training fails without Weft"
  timeout 100 "${simulated[@]}" "$build/bin/weft" run -q --observe --output "$work/trace" -- "${trainer[@]}" --annotate \
    >"$work/out" 2>"$work/err" || fail "the training fails"
  diff <(losses "$work/plain") <(losses "$work/out") >/dev/null || fail "the losses differ"
  python3 - "$work"/trace/*.jsonl <<'CHECKS' || fail "the trace is not right"
import json, sys

assert len(sys.argv) == 3, sys.argv
for path in sys.argv[1:]:
    records = [json.loads(line) for line in open(path)]
    summary = records[-1]
    assert [r["said"] for r in records if r["type"] == "iteration"] == list(range(12)), path
    bubbles = [r for r in records if r["type"] == "bubble" and r["iteration"] > 0]
    assert {r["stage"] for r in bubbles} == {records[0]["rank"]}, path
    assert {r["chunk"] for r in bubbles} == {0, 1}, path
    microbatches = {r["microbatch"] for r in bubbles}
    assert microbatches <= {-1, 0, 1, 2, 3} and len(microbatches) >= 3, microbatches
    assert summary["annotations_refused"] == 0 and summary["dropped_records"] == 0, summary
CHECKS
  exit 0
fi

# Its bubbles are sleeps of a fixed length, so its sets have theirs, also where the environment asks for longer ones.
export SIMGPU_TIME_SCALE=1
said=$case mode=(--observe)
if [ "$case" = filled ]; then said=right mode=(--fill matmul:size=32 --slowdown-budget off --memory 64MiB); fi
timeout 60 "${simulated[@]}" "$program" "$said" 2>"$work/err" || fail "it fails without Weft"
WEFT=off timeout 60 "${simulated[@]}" "$build/bin/weft" run -q "${mode[@]}" --output "$work/off" -- "$program" "$said" \
  2>"$work/err" || fail "it fails with Weft switched off"
mkdir "$work/truth"
SIMGPU_LOG=$work/truth timeout 200 "${simulated[@]}" "$build/bin/weft" run "${mode[@]}" --output "$work/trace" -- "$program" "$said" \
  2>"$work/err" || fail "it fails with Weft"
grep -q 'weft: .*annotations: ' "$work/err" && [ "$case" != wrong ] && [ "$case" != many ] && fail "something was refused"
"$build/bin/weft" summary "$work/trace" >"$work/summary" || fail "weft summary fails"
if [ "$case" = many ]; then
  python3 - "$work" <<'CHECKS' || fail "the trace is not right"
import glob, json, sys

work, = sys.argv[1:]
for path in glob.glob(work + "/trace/*.jsonl"):
    records = [json.loads(line) for line in open(path)]
    summary = records[-1]
    held_back = summary["annotations_held_back"]
    print(f"{held_back} annotations held back")
    assert summary["dropped_records"] == 0 and held_back > 1000, summary
    # 3, 4 and 5 microbatches in turn, and those beside the annotations.
    groups = sum(r["type"] == "group" for r in records)
    assert groups + summary["groups_thinned_out"] >= 48 + 40, (groups, summary)
    assert f"{held_back} annotations are lost" in open(work + "/summary").read(), held_back
    assert f"{held_back} annotations lost" in open(work + "/err").read() or records[0]["rank"] != 0, held_back
CHECKS
  exit 0
fi
python3 - "$work" "$case" <<'CHECKS' || fail "the trace is not right"
import glob, json, sys

work, case = sys.argv[1:]
traces = glob.glob(work + "/trace/*.jsonl")
assert len(traces) == 2, traces
text = open(work + "/summary").read()
for path in traces:
    records = [json.loads(line) for line in open(path)]
    header, summary = records[0], records[-1]
    of = lambda kind: [record for record in records if record["type"] == kind]
    rank = header["rank"]
    assert summary["type"] == "summary" and summary["dropped_records"] == 0, summary
    assert not summary["filling_stopped"], summary
    iterations, bubbles = of("iteration"), of("bubble")
    assert [r["said"] for r in iterations] == list(range(100, 112)), [r["said"] for r in iterations]
    assert [r["turn"] for r in iterations] == list(range(101, 113)), iterations
    assert [r["groups"] for r in iterations] == [3, 4, 5] * 4, iterations
    assert all(r["stage"] == rank and r["chunk"] == -1 for r in bubbles), (path, bubbles[0])
    assert {r["microbatch"] for r in bubbles if r["pattern"] == "event_wait"} >= {0, 1, 2}, path
    said = [r for r in bubbles if r["pattern"] == "said"]
    assert all(r["cause"] == "schedule" and r["group"] == 0 for r in said), said
    assert all(r["microbatch"] == -1 for r in said if r["iteration"] != 0), said
    # The true ones last for 30 ms. A look may come late; the other one has only what the sets leave.
    long = [r for r in said if r["ordinal"] == 0]
    assert len(long) == 12 and len({r["iteration"] for r in long}) == 12, (path, long)
    lengths = sorted(r["closed"] - r["opened"] for r in long)
    assert lengths[0] > 20e6, lengths
    forecasts = [r["forecast"] for r in long if r["forecast"]]
    assert len(forecasts) >= 8 and all(f["median"] > 20e6 for f in forecasts), forecasts
    log, = glob.glob(f"{work}/truth/gpu{header['device']}.{path.split('.')[-2]}.jsonl")
    sets = [json.loads(line) for line in open(log)]
    sets = [(r["start"], r["end"]) for r in sets if r["type"] == "copy" and r["kind"] == "set"]
    assert len(sets) >= 12 * (4 + 3), len(sets)
    both = sum(max(0, min(r["closed"], end) - max(r["opened"], begin)) for r in said for begin, end in sets)
    length_of_sets = sum(end - begin for begin, end in sets)
    print(f"rank {rank}: sets for {length_of_sets / 1e6:.1f} ms, {both / 1e6:.2f} ms of them in bubbles that were said")
    assert length_of_sets > 50e6 and both < 0.1 * length_of_sets, (both, length_of_sets)
    refused = summary["annotations_refused"]
    notes = [r["text"] for r in of("anomaly") if r["text"].startswith("annotations: ")]
    if case == "wrong":
        assert refused >= 5, refused
        assert len(notes) >= 4 and len(set(notes)) == len(notes), notes
        assert f"{refused} annotations were not believed" in text, text
        errors = open(work + "/err").read()
        for note in (
            "annotations: one names a device that cannot be, and is not believed",
            "annotations: they name device 7, which is not observed in this process, and go nowhere",
        ):
            assert notes.count(note) == 1, (note, notes)
            assert errors.count(f"rank {rank}: {note}") == 1, (note, errors)
    else:
        assert refused == 0 and not notes, (refused, notes)
        assert f"annotated bubble 0 (stage {rank}); " in text, text
    slices = of("slice")
    if case == "filled":
        filled = {r["bubble"] for r in slices} & {r["id"] for r in long}
        assert len(filled) >= 6, (len(filled), len(slices), [r["text"] for r in of("anomaly")])
        assert summary["fill_units_wrong"] == 0, summary
CHECKS
