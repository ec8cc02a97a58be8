#!/usr/bin/env bash
# CUDA_DEVICE_MAX_CONNECTIONS=1 and a fill job. Where the machine answers that fill work runs beside a host that waits
# for the GPU, such bubbles are filled; where it answers otherwise nothing is, and the cause is said once; where the
# answers are wrong filling ends after three slices. Losses are those of the run without Weft, bit by bit.
#   one_queue_fill.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
reason="one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)"
export SIMGPU_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=1 SIMGPU_TIME_SCALE=6 HOME=$work/home WEFT_LOG=info
unset XDG_CACHE_HOME WEFT_ANSWERS ${!SIMGPU_QUEUE*} ${!SIMGPU_HOST_WAIT*}
fail() { echo "one_queue_fill: $1"; echo "--- stdout"; cat "$work/out"; echo "--- stderr"; cat "$work/err"; exit 1; }
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

# filled NAME yes|no: of the rank that waits most; no result is wrong, nothing is lost. A slice runs as soon as it is
# launched: at most one in twenty may find work of the training that was launched at the same time ahead of it.
filled() {
  python3 - "$work/$1" "$2" <<'CHECKS' >>"$work/out" 2>>"$work/err" || fail "$1: filling is wrong"
import collections, glob, json, sys
folder, wanted = sys.argv[1:]
shares, waits = [], []
for trace in glob.glob(folder + "/trace/*.jsonl"):
    records = [json.loads(line) for line in open(trace, encoding="utf-8")]
    summary = next(record for record in records if record["type"] == "summary")
    assert summary["fill_units_wrong"] == 0 and summary["dropped_records"] == 0, summary
    shares.append(summary["filled"] / max(summary["idle"], 1))
    process = records[0]["process"]
    first = collections.defaultdict(lambda: 1 << 62)
    launches = {record["launched"] for record in records if record["type"] == "slice"}
    for line in open(glob.glob(f"{folder}/log/gpu*.{process}.jsonl")[0], encoding="utf-8"):
        record = json.loads(line)
        if record["type"] == "kernel" and record.get("thread", "").startswith("weft"):
            first[record["launched"]] = min(first[record["launched"]], record["start"])
    waits += [start - launched for launched, start in first.items()]
late = sum(wait > 500_000 for wait in waits)
print(f"filled {shares}, {len(waits)} slices launched, {late} of them held up")
if wanted == "yes":
    assert max(shares) > 0.25, shares
    assert len(waits) > 50 and late <= 0.05 * len(waits), (late, len(waits))
else:
    assert max(shares) < 0.05 and len(waits) <= 2 * 6, (shares, len(waits))
CHECKS
}

# Nobody has asked before: the trial of the fill job does. As Megatron-LM waits.
train asked event-and-host
says "filling bubbles with matmul; $reason: some time may be uncertain"
filled asked yes
[ ! -e "$HOME/.cache/weft" ] || fail "a GPU that computes was asked, and the answers are kept"

# With kept answers, and where a running slice holds up what is launched behind it, and a host that waits for the GPU.
"${simulated[@]}" "$build/bin/weft" check --answers "$work/good" >"$work/out" 2>"$work/err" || fail "weft check"
export WEFT_ANSWERS=$work/good
SIMGPU_QUEUE_GRAPH=holds SIMGPU_HOST_WAIT=all train harsh host
filled harsh yes

# The host goes on.
train streams event
filled streams no
says "the host did not wait for the GPU, or had more enqueued: one hardware queue"

# The answers turn out to be wrong: a queue that is held up, or launches that stand.
SIMGPU_QUEUE_RECORD_BEHIND_WAIT=holds WEFT_LOG=warn train held event-and-host
filled held no
says "filling is off for the rest of this run: one hardware queue: 3 slices in a row did not end"
SIMGPU_HOST_WAIT_LAUNCH=holds train standing event-and-host
filled standing no
says "filling is off for the rest of this run: one hardware queue: 3 slices in a row did not end"
SIMGPU_QUEUE_RECORD=holds train uncertain event-and-host
filled uncertain no

# The answers forbid it.
unset WEFT_ANSWERS
SIMGPU_HOST_WAIT_LAUNCH=holds WEFT_LOG=warn train refused host
filled refused no
says_once "$reason: what is launched while the host waits for the GPU does not run (weft check); observing only" 1
SIMGPU_QUEUE_RECORD_BEHIND_WAIT=holds train no_stream host
filled no_stream yes
SIMGPU_QUEUE_RECORD_BEHIND_WAIT=holds train stream_waits event-and-host
filled stream_waits no
