# Sourced by the tests that fill with one hardware queue (SOURCE BUILD are their arguments): a training of two ranks on the
# simulated GPU, and what must be so of its losses, its trace and the slices that really ran.
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
reason="one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)"
export SIMGPU_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=1 SIMGPU_TIME_SCALE=6 HOME=$work/home WEFT_LOG=info
unset XDG_CACHE_HOME WEFT_ANSWERS ${!SIMGPU_QUEUE*} ${!SIMGPU_HOST_WAIT*}
fail() { echo "$(basename "$0" .sh): $1"; echo "--- stdout"; cat "$work/out"; echo "--- stderr"; cat "$work/err"; exit 1; }
says() { grep -qF -- "$1" "$work/err" || fail "stderr does not say: $1"; }
says_once() { [ "$(grep -cF -- "$1" "$work/err")" = "$2" ] || fail "stderr does not say $2 times: $1"; }
losses() { sed -n 's/^\(iteration .* loss [^ ]*\).*/\1/p' "$work/out"; }
trainer=("$build/bin/trainer" --launch 2 --iterations 14 --microbatches 4 --hidden 32 --sequence 16
  --text "$source_dir/LICENSE")

timeout 120 "${simulated[@]}" "${trainer[@]}" --wait host >"$work/out" 2>"$work/err" || fail "the plain training fails"
losses >"$work/losses"
[ "$(wc -l <"$work/losses")" = 14 ] || fail "no losses"

# train NAME WAIT: with the settings of the simulator in the environment.
train() {
  mkdir -p "$work/$1/log"
  SIMGPU_LOG="$work/$1/log" timeout 120 "${simulated[@]}" "$build/bin/weft" run --fill matmul --output "$work/$1/trace" \
    -- "${trainer[@]}" --wait "$2" >"$work/out" 2>"$work/err" || fail "$1: the training fails"
  losses | cmp -s - "$work/losses" || fail "$1: the losses are others"
}

# filled NAME yes|no [STREAM]: of the rank that waits most; no result is wrong, nothing is lost. A slice runs as soon as it
# is launched, or behind one other in a stream of its own: at most one in twenty may find work of the training that was
# launched at the same time ahead of it.
filled() {
  python3 - "$work/$1" "$2" "${3-plain}" <<'CHECKS' >>"$work/out" 2>>"$work/err" || fail "$1: filling is wrong"
import collections, glob, json, sys
folder, wanted, stream = sys.argv[1:]
shares, waits, streams = [], [], set()
for trace in glob.glob(folder + "/trace/*.jsonl"):
    records = [json.loads(line) for line in open(trace, encoding="utf-8")]
    summary = next(record for record in records if record["type"] == "summary")
    assert summary["fill_units_wrong"] == 0 and summary["dropped_records"] == 0, summary
    assert summary["fill_stream"] in ("", stream), summary["fill_stream"]
    streams.add(summary["fill_stream"])
    shares.append(summary["filled"] / max(summary["idle"], 1))
    process = records[0]["process"]
    first = collections.defaultdict(lambda: 1 << 62)
    launches = {record["launched"] for record in records if record["type"] == "slice"}
    for line in open(glob.glob(f"{folder}/log/gpu*.{process}.jsonl")[0], encoding="utf-8"):
        record = json.loads(line)
        if record["type"] == "kernel" and record.get("thread", "").startswith("weft-dispatch"):
            first[record["launched"]] = min(first[record["launched"]], record["start"])
    waits += [start - launched for launched, start in first.items()]
late = sum(wait > (500_000 if stream == "plain" else 5_000_000) for wait in waits)
print(f"filled {shares}, {len(waits)} slices launched, {late} of them held up")
if wanted == "yes":
    assert streams == {stream}, streams
    assert max(shares) > 0.25, shares
    assert len(waits) > 50 and late <= 0.05 * len(waits), (late, len(waits))
else:
    assert max(shares) < 0.05 and len(waits) <= 2 * 6, (shares, len(waits))
CHECKS
}

