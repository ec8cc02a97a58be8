#!/usr/bin/env bash
# weft run --validate and weft validate on simulated GPUs, whose CUPTI delivers the truth of their logs.
#   validate.sh SOURCE BUILD PROGRAM HIDDEN CASE
# true: a training that Weft sees rightly, and CUPTI's truth is that of the log. blinded: compute hidden from Weft is
# found out. fill: fill is told apart from the training. Others: validation is off or partial, says why, and the
# training runs on.
set -uo pipefail
source_dir=$1 build=$2 program=$3 hidden=$4 case=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Slower still where scripts/sanitize asks for it.
export SIMGPU_TIME_SCALE=$((4 * ${SIMGPU_TIME_SCALE:-1})) SIMGPU_DEVICES=2 XDG_RUNTIME_DIR=$work CUDA_DEVICE_MAX_CONNECTIONS=32
unset CUDA_INJECTION64_PATH NSYS_PROFILING_SESSION_ID
fail() { echo "validate $case: $1"; tail -n 30 "$work/err" "$work/out" 2>/dev/null; exit 1; }
# As in that file.
says() { grep -qF -- "$1" "$work/$2" || fail "$2 does not say: $1"; }

run() {
  timeout 100 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" run --validate "${options[@]}" \
    --output "$work/trace" -- "$@" >"$work/log" 2>"$work/err"
}
trainer=("$build/bin/trainer" --launch 2 --iterations 12 --microbatches 4 --hidden 32 --sequence 16 --batch 2
  --text "$source_dir/LICENSE")
# On a busy machine the simulated GPU and Weft's thread are late: the bound is lower than for users.
validate() { "$build/bin/weft" validate --shortest 40 --least 0.9 "$@" "$work/trace" >"$work/out" 2>>"$work/err"; }
# No bound is broken and nothing is missing. Where the machine is busy the host is late, and the GPU has nothing to do
# meanwhile: that alone may leave the verdict open.
right() {
  validate
  local code=$?
  [ $code -eq 0 ] && return
  [ $code -eq 1 ] && ! grep -F ": not" "$work/out" && ! grep -F "can be said: " "$work/out" | grep -vF "shows no kernel at all"
}
# All of RANKS traces are compared, in their whole windows, and the truth shows nothing outside of them. The ranks of this
# program wait so little that the verdict itself hangs on how busy the machine is.
whole() {
  validate --json
  [ "$(grep -cF '"compared": true' "$work/out")" -eq "$1" ] || fail "not all ranks are compared"
  ! grep -E "window could|outside the trace|has no window|are missing" "$work/out" || fail "something is missing"
}
# PROGRAM: right, and where the report itself has it that Weft's thread was late, right in one of three runs.
right_when_on_time() {
  local try
  for try in 1 2 3; do
    rm -rf "$work/trace"
    run "$@" || fail "the program fails"
    right && return
    grep -qF "a likely cause: Weft's thread was late" "$work/out" || return 1
  done
  return 1
}
options=()

off() {  # REASON: the training goes on, and all three places say why there is no validation
  run "${trainer[@]}" || fail "the training fails"
  grep -F "observing bubbles" "$work/err" | grep -qF "no validation: $1" || fail "the start line does not say: $1"
  grep -F "weft: rank 0: no validation" "$work/err" | grep -qF "$1" || fail "the end lines do not say: $1"
  validate
  [ $? -eq 1 ] || fail "weft validate does not fail"
  says "rank 1: not validated: $1" out
  "$build/bin/weft" summary "$work/trace" >"$work/out" || fail "no summary"
  says "rank 0: not validated: $1" out
}

case $case in
  true)
    mkdir "$work/truth"
    SIMGPU_LOG=$work/truth run "${trainer[@]}" || fail "the training fails"
    grep -F "observing bubbles" "$work/err" | grep -qF "validating with CUPTI" || fail "the start line does not say it"
    validate || fail "Weft is not right"
    says "verdict: all 2 ranks keep the bounds" out
    validate --json || fail "no JSON"
    "$build/bin/weft" summary --json "$work/trace" >"$work/summary.json" || fail "no summary"
    python3 -c 'import json, sys; assert [rank["compared"] for rank in json.load(sys.stdin)["validation"]["ranks"]] == [True] * 2' \
      <"$work/summary.json" || fail "the summary has no validation"
    # The same truth as from the log of the simulated GPU, although its CUPTI has another clock.
    python3 -B - "$build/bin/simgpu-truth" "$work" <<'CHECKS' || fail "CUPTI's truth is not that of the log"
import glob, json, subprocess, sys

tool, work = sys.argv[1:]
result = json.load(open(work + "/out"))
assert result["agrees"] and len(result["ranks"]) == 2, result
for rank in result["ranks"]:
    path, = glob.glob(f"{work}/trace/rank{rank['rank']}.*.jsonl")
    summary = json.loads(open(path).read().splitlines()[-1])
    log, = glob.glob(f"{work}/truth/gpu{rank['device']}.{path.split('.')[-2]}.jsonl")
    told = subprocess.run([tool, "--from", str(summary["window_begin"]), "--to", str(summary["window_end"]), "--shortest", "40000",
                           log], capture_output=True, check=True)
    true = json.loads(told.stdout)["logs"][0]
    # The log counts the time in which NCCL connects as communication; CUPTI sees no kernel then.
    assert abs(true["idle"] - rank["idle_true"]) < 0.01 * true["window"], (true, rank)
    assert rank["window"] == true["window"] and rank["idle_true"] > 0.05 * true["window"], rank
    assert rank["dropped_records"] == 0 and not rank["notes"] and rank["clock_uncertainty"] < 1_000_000, rank
CHECKS
    "$build/bin/weft" summary "$work/trace" >"$work/out" || fail "no summary"
    says "held against CUPTI" out ;;
  sees)
    # Rank 1 is hardly ever idle: half a look of lateness at each of its bubbles is most of what it reports.
    SIMGPU_TIME_SCALE=$((3 * SIMGPU_TIME_SCALE))
    right_when_on_time "$program" 15 || fail "Weft is not right" ;;
  blinded)
    run "$program" 15 "$hidden" || fail "the program fails"
    validate
    [ $? -eq 3 ] || fail "hidden compute is not found out"
    says "rank 0: the training computed in" out ;;
  fill)
    options=(--fill matmul)
    right_when_on_time "${trainer[@]}" || fail "Weft is not right"
    validate --json
    python3 -B - "$work" <<'CHECKS' || fail "fill is not told apart"
import json, sys

ranks = json.load(open(sys.argv[1] + "/out"))["ranks"]
assert sum(rank["slices"] for rank in ranks) > 20, ranks
for rank in ranks:
    assert abs(rank["fill_alone"] - rank["fill_true"]) < 0.2 * rank["fill_true"] + 5_000_000, rank
    assert rank["fill_in_idle"] > 0.8 * rank["fill_true"], rank
CHECKS
    ;;
  taken) SIMGPU_CUPTI=taken off "another profiler has CUPTI (error 39)" ;;
  uninitialised) SIMGPU_CUPTI=uninitialised off "CUPTI cannot be initialised (error 15)" ;;
  injected) CUDA_INJECTION64_PATH=/nowhere/tool.so off "another profiler is in the process (CUDA_INJECTION64_PATH)" ;;
  missing) WEFT_CUPTI=/nowhere/libcupti.so off "/nowhere/libcupti.so (WEFT_CUPTI) cannot be opened" ;;
  version) SIMGPU_CUPTI=version=990000 off "libcupti.so.13 is of version 990000, whose records this build does not know" ;;
  crashes) SIMGPU_CUPTI=version=130000 off "libcupti.so.13 is CUPTI 13.0 without Update 1" ;;
  dropped)
    SIMGPU_CUPTI=drop=10 run "${trainer[@]}" || fail "the training fails"
    validate
    [ $? -eq 1 ] || fail "there is a verdict although records are missing"
    says "records were dropped by CUPTI: the truth is partial" out
    says "of CUPTI's records are missing (bound: 0.1 %)" out
    says " dropped; the iteration times" err ;;
  killed)
    run "$program" 30 killed && fail "the program was not killed"
    validate --json
    grep -qF '"compared": true' "$work/out" || fail "nothing is compared"
    says "the truth file has no end line: the process was killed, or still runs" out ;;
  leaves)
    # CUPTI's own destructors run after Weft's last call, and take their time.
    SIMGPU_CUPTI=lingers run "$program" 15 leaves || fail "the program fails"
    ! grep -F "after its destructors" "$work/err" || fail "CUPTI was called while the process ends"
    for truth in "$work"/trace/truth*; do
      tail -n 1 "$truth" | grep -qF '"type": "end"' || fail "$truth has no last line"
    done
    validate --json
    grep -qF '"compared": true' "$work/out" || fail "nothing is compared" ;;
  again)
    run "$program" 15 again || fail "the program fails"
    whole 2 ;;
  swapped)
    # Each process has a trace for each of its ranks, and one truth file.
    run "$program" 15 swapped || fail "the program fails"
    [ "$(ls "$work"/trace/truth* | wc -l)" -eq 2 ] || fail "not one truth file for each process"
    whole 4 ;;
  refused)
    SIMGPU_CUPTI=refuse run "$program" 5 again || fail "the program fails"
    validate
    [ $? -eq 1 ] || fail "weft validate does not fail"
    says "rank 0: not validated: cuptiActivityEnable: CUPTI refuses: insufficient privileges (error 35)" out
    ! grep -F "another profiler" "$work/err" || fail "Weft takes itself for another profiler" ;;
  *) fail "there is no such case" ;;
esac
