#!/usr/bin/env bash
# Bad input: each case trains on simulated GPUs with something wrong and checks three things: the training's output is
# that of a run without Weft, its exit code is 0, and stderr holds exactly one line that says clearly what is wrong. The
# case "plain" is that run without Weft, which the others compare with; all other faults of fill jobs: tests/runner.
#   bad_input.sh SOURCE BUILD JOBS PLAIN CASE
set -uo pipefail
source_dir=$1 build=$2 jobs=$3 plain=$4 name=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fill=$build/lib/weft/fill_matmul.so
preload=$("$build/bin/weft" lib)  # a path without blanks, whatever the build folder is called
trainer=("$build/bin/trainer" --launch 2 --iterations 4 --microbatches 2 --hidden 16 --sequence 8 --batch 2 --text "$source_dir/LICENSE")
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
export WEFT_SUMMARY=off SIMGPU_DEVICES=2
losses() { sed 's/  [0-9.]* ms$//' "$1"; }
fail() { echo "$name: $1"; echo "--- stderr"; cat "$work/err"; exit 1; }

# Runs under `weft run` with the given options, then wants: exit code 0, the same losses, the message once.
unharmed() {
  local message=$1 times=$2
  shift 2
  timeout 100 "${simulated[@]}" "$build/bin/weft" run -q --output "$work/trace" "$@" -- "${trainer[@]}" >"$work/out" 2>"$work/err"
  local code=$?
  [ $code -eq 0 ] || fail "exit code $code"
  diff <(losses "$plain") <(losses "$work/out") >/dev/null || fail "the losses differ"
  [ "$(grep -c -E "^weft: .*$message" "$work/err")" -eq "$times" ] || fail "not $times line(s) with: $message"
}
# Wants `weft run` to refuse before the training starts: exit code not 0 and the message.
refused() {
  local message=$1
  shift
  if timeout 60 "${simulated[@]}" "$build/bin/weft" run -q --output "$work/trace" "$@" -- "${trainer[@]}" >"$work/out" 2>"$work/err"; then
    fail "weft run did not refuse"
  fi
  [ ! -s "$work/out" ] || fail "the training was started"
  grep -q -E "^weft: .*$message" "$work/err" || fail "no line with: $message"
}
# As unharmed(), with the preload set by hand as users of job scripts do: weft run cannot help them.
unharmed_by_hand() {
  local message=$1 times=$2
  shift 2
  timeout 100 "${simulated[@]}" env LD_PRELOAD="$preload" WEFT_OUTPUT="$work/trace" "$@" "${trainer[@]}" >"$work/out" 2>"$work/err"
  local code=$?
  [ $code -eq 0 ] || fail "exit code $code"
  diff <(losses "$plain") <(losses "$work/out") >/dev/null || fail "the losses differ"
  [ "$(grep -c -E "^weft: .*$message" "$work/err")" -eq "$times" ] || fail "not $times line(s) with: $message"
}

case $name in
  plain) timeout 60 "${simulated[@]}" "${trainer[@]}" >"$plain" 2>"$work/err" || fail "the training fails without Weft"
         grep -q '^iteration 4 ' "$plain" || fail "no losses" ;;
  missing_job) refused 'no such file' --fill "$work/nothing.so"
               unharmed_by_hand 'no such file' 1 WEFT_FILL="$work/nothing.so" ;;
  not_a_job) refused 'weft_fill_job_v2' --fill "$build/lib/weft/libweft.so"
             unharmed_by_hand 'weft_fill_job_v2' 1 WEFT_FILL="$build/lib/weft/libweft.so" ;;
  crashes_in_init) unharmed 'crashed in init' 1 --fill "$jobs/bad_init_crashes.so" ;;
  fails_in_init) unharmed 'the moon is in the wrong phase' 1 --fill "$jobs/bad_init_fails.so:the moon is in the wrong phase" ;;
  job_arguments) unharmed 'unknown argument colour=red' 1 --fill "$fill:colour=red" ;;
  cap_beyond_device) unharmed 'WEFT_MEMORY. cannot be made' 1 --fill "$fill" --set WEFT_MEMORY=100TiB ;;
  malformed_option) unharmed_by_hand 'WEFT_SLICE=soon' 1 WEFT_SLICE=soon
                    unharmed 'WEFT_SLICE=soon' 1 --set WEFT_SLICE=soon
                    refused 'WEFT_SLICE=soon' --strict --set WEFT_SLICE=soon ;;
  unknown_option) unharmed_by_hand 'WEFT_SLISE.*WEFT_SLICE' 1 WEFT_SLISE=100us ;;
  unwritable_output) touch "$work/file"; unharmed_by_hand 'cannot be made: Not a directory; there will be no trace' 1 WEFT_OUTPUT="$work/file/trace" WEFT_SUMMARY=on
                     grep -q -E 'traces (of all ranks )?in|next:' "$work/err" && fail "traces that do not exist are named"
                     grep -q '^weft: rank 0: it left no trace' "$work/err" || fail "the end says nothing of the trace" ;;
  full_disk)
    mkdir "$work/full"
    mount -t tmpfs -o size=4k tmpfs "$work/full" 2>/dev/null || exit 77  # only root may; elsewhere the test is skipped
    trap 'umount "$work/full"; rm -rf "$work"' EXIT
    head -c 4096 /dev/zero >"$work/full/filler"
    unharmed_by_hand 'No space left' 2 WEFT_OUTPUT="$work/full" ;;
  old_driver) SIMGPU_DRIVER_VERSION=11040 unharmed 'the CUDA driver is older than 12\.0: not active' 2 ;;
  old_nccl) SIMGPU_NCCL_VERSION=21003 unharmed 'NCCL is older than 2\.18: not active' 2 ;;
  no_nccl)
    alone=$(/bin/echo hello); preloaded=$(WEFT=fill WEFT_FILL="$fill" LD_PRELOAD="$preload" /bin/echo hello 2>&1)
    [ "$alone" = "$preloaded" ] || fail "a program without NCCL noticed: $preloaded" ;;
  *) fail "no such case" ;;
esac
