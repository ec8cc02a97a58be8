#!/usr/bin/env bash
# The fill path and the trainer's tensor-core kernels under compute-sanitizer: compute_sanitizer.sh PROGRAMS TOOL
#   PROGRAMS: bundle or build tree; TOOL: memcheck, racecheck or synccheck
# Runs units of both fill jobs as Weft prepares and cuts them (fill_loop), the checks of the trainer's kernels, and with
# memcheck the whole of Weft filling known bubbles. Started by scripts/gpu-proof. Prints one JSON object with a word for each
# program: "clean", "report", "out of time" (the tool is slow), "failed", "did not fill". Exit code 0 when all are clean, 77
# when there is no device or no compute-sanitizer, else 1 (its output is on stderr).
set -euo pipefail
programs=$(cd "$1" && pwd) tool=$2
readonly found_something=99
# Four programs at most have to fit into what scripts/gpu-proof gives this script.
total=${GPU_PROOF_LIMIT:-250}
readonly limit=$(( (${total%.*} - 6) / 4 ))

skip() {
  printf '{"case": "sanitizer-%s", "skipped": "%s"}\n' "$tool" "$1"
  exit 77
}

case $tool in memcheck | racecheck | synccheck) ;; *) echo "compute_sanitizer.sh: no tool of this name: $tool" >&2; exit 2 ;; esac
check=$programs/bin/gpu_cases/kernels_check
loop=$programs/bin/measures/fill_loop
[ -x "$check" ] || skip "kernels_check is not among the programs"
sanitizer=$(command -v compute-sanitizer || true)
for folder in "${CUDA_HOME:-}" /usr/local/cuda /usr/local/cuda-13 /usr/local/cuda-13.0; do
  if [ -z "$sanitizer" ] && [ -x "$folder/bin/compute-sanitizer" ]; then sanitizer=$folder/bin/compute-sanitizer; fi
done
[ -n "$sanitizer" ] || skip "compute-sanitizer is not installed"
device=0
plain=$("$check" --no-speed) || device=$?
[ "$device" -ne 77 ] || skip "no CUDA device is here"
case $plain in *'"simulated": true'*) skip "a simulated GPU runs no device code" ;; esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
holds=true values=""

# say NAME WORD: how a program ended
say() {
  values+="${values:+, }\"$1\": \"$2\""
  [ "$2" = clean ] && return
  holds=false
  echo "compute_sanitizer.sh: $tool: $1: $2" >&2
}

# run NAME COMMAND...: one program under the tool; what it says is left in `ended`
run() {
  local name=$1 code=0
  shift
  timeout -k 1 "$limit" "$sanitizer" --tool "$tool" --target-processes all --error-exitcode $found_something --print-limit 20 \
    "$@" >"$work/output" 2>&1 || code=$?
  case $code in
    0) ended=clean ;;
    "$found_something") ended=report ;;
    124 | 137) ended="out of time" ;;
    *) ended=failed ;;
  esac
  [ "$ended" = clean ] || tail -40 "$work/output" >&2
}

units_of() {
  sed -n '/"type": *"summary"/s/.*"fill_units": *\([0-9]*\).*/\1/p' "$1"/rank*.jsonl 2>/dev/null | tail -1
}

run kernels "$check" --no-speed
say kernels "$ended"
if [ -x "$loop" ]; then
  run matmul "$loop" "$programs/lib/weft/fill_matmul.so:size=64,products=4" "$work/matmul" 3
  say matmul "$ended"
  run large_matmul "$loop" "$programs/lib/weft/fill_matmul.so:size=256,products=2" "$work/large_matmul" 3
  say large_matmul "$ended"
fi
if [ "$tool" = memcheck ] && [ -x "$programs/bin/bubble_case" ]; then
  export LD_LIBRARY_PATH="$programs/lib/stand_in${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  run weft "$programs/bin/weft" run --quiet --fill "$programs/lib/weft/fill_matmul.so:size=64,products=4" --memory 64MiB \
    --output "$work/trace" -- "$programs/bin/bubble_case" --iterations 12 --report "$work/report.json"
  # Where the trial of the job is too slow under the tool Weft only observes: nothing was checked then.
  units=$(units_of "$work/trace")
  if [ "$ended" = clean ] && [ "${units:-0}" -eq 0 ]; then ended="did not fill"; fi
  say weft "$ended"
fi
printf '{"case": "sanitizer-%s", "simulated": false, "holds": %s, "values": {%s}}\n' "$tool" "$holds" "$values"
$holds
