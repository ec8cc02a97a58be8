#!/usr/bin/env bash
# CUDA_DEVICE_MAX_CONNECTIONS=1: bubbles are measured by events in place of writes. Whatever holds up the one queue
# (SIMGPU_QUEUE_...), idle and uncertain time together cover the truth, idle time is not more than that, but for what the
# records say of late looks, and start line, end lines, trace and summary name the queue. Where events pass and the training waits as frameworks do, idle time is
# right. That no word is written is tested in tests/shim/groups_test.cpp and tests/runner/core/unmarked_test.cpp.
#   one_queue.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
reason="one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)"
export SIMGPU_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=1 SIMGPU_TIME_SCALE=6
fail() { echo "one_queue: $1"; echo "--- stdout"; cat "$work/out"; echo "--- stderr"; cat "$work/err"; exit 1; }
# As in that file, or not.
says() { grep -qF -- "$1" "$work/$2" || fail "$2 does not say: $1"; }

# train NAME ARGUMENT...: with the settings of the simulator in the environment.
train() {
  local name=$1
  shift
  mkdir -p "$work/$name/log"
  SIMGPU_LOG="$work/$name/log" timeout 120 "${simulated[@]}" "$build/bin/weft" run --observe --output "$work/$name/trace" -- \
    "$build/bin/trainer" --launch 2 --iterations 8 --microbatches 4 --hidden 32 --sequence 16 \
    --text "$source_dir/LICENSE" "$@" >"$work/out" 2>"$work/err" || fail "$name: the training fails"
}

# covers NAME right|covered: of each rank, against the simulated GPU's own log.
covers() {
  python3 - "$build/bin/simgpu-truth" "$work/$1" "$2" <<'CHECKS' >"$work/out" 2>"$work/err" || fail "$1: idle time is wrong"
import glob, json, subprocess, sys
program, folder, wanted = sys.argv[1:]
for trace in glob.glob(folder + "/trace/*.jsonl"):
    records = [json.loads(line) for line in open(trace, encoding="utf-8")]
    header = records[0]
    summary = next(record for record in records if record["type"] == "summary")
    assert header["caution"].startswith("one hardware queue"), header
    begin, end = summary["window_begin"], summary["window_end"]
    log = glob.glob(f"{folder}/log/gpu*.{header['process']}.jsonl")
    truth = json.loads(subprocess.run([program, "--from", str(begin), "--to", str(end), "--as-told", *log], check=True,
                                      capture_output=True).stdout)["logs"][0]["idle_share"]
    idle, uncertain = summary["idle"] / (end - begin), summary["uncertain"] / (end - begin)
    # By how much the looks were late, as the records say: more on a machine that is busy.
    late = sum(record["opened_within"] + record["closed_within"] for record in records if record["type"] == "bubble")
    late /= end - begin
    print(f"rank {header['rank']}: idle {idle:.4f}, uncertain {uncertain:.4f}, true {truth:.4f}, known to {late:.4f}")
    assert truth > 0.1, "nothing to see"
    assert idle < truth + 0.02 + late, "more than there is"
    assert idle + uncertain > truth - 0.01 - late, "silently too little"
    if wanted == "right":
        assert idle > truth - 0.02 - late, "idle time is missing"
    elif uncertain > 0.05:
        assert summary["uncertain_reason"].startswith("one hardware queue"), summary
CHECKS
}

train events --wait event
says "observing bubbles; $reason: some time may be uncertain" err
covers events right
"$build/bin/weft" summary "$work/events/trace" >"$work/out" 2>"$work/err" || fail "no summary"
train host --wait host
covers host right
train in_stream --wait in-stream
covers in_stream right

export SIMGPU_QUEUE_RECORD=holds
train held_by_events --wait event
says "one hardware queue: what was launched behind a blocked stream may be held up" err
covers held_by_events covered
"$build/bin/weft" summary "$work/held_by_events/trace" >"$work/out" 2>"$work/err" || fail "no summary"
says "nobody could tell whether the GPU computed: one hardware queue" out
unset SIMGPU_QUEUE_RECORD

SIMGPU_QUEUE_WAIT=holds train held_by_waits --wait event
covers held_by_waits covered
SIMGPU_QUEUE_KERNEL=passes train no_false_order --wait event
covers no_false_order covered
