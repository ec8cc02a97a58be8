#!/usr/bin/env bash
# The fill path and the trainer's tensor-core kernels under compute-sanitizer: compute_sanitizer.sh PROGRAMS TOOL
#   PROGRAMS: bundle or build tree; TOOL: memcheck, racecheck or synccheck
# Runs units of both fill jobs as Weft prepares and cuts them (fill_loop), the checks of the trainer's kernels, and with
# memcheck the whole of Weft filling known bubbles. Started by scripts/gpu-proof. Prints one JSON object; exit code 0 when
# there is no report, 77 when there is no device or no compute-sanitizer, else 1 (its output is on stderr).
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
plain=$("$check") || device=$?
[ "$device" -ne 77 ] || skip "no CUDA device is here"
case $plain in *'"simulated": true'*) skip "a simulated GPU runs no device code" ;; esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
holds=true values=""

# run NAME COMMAND...: one program under the tool
run() {
  local name=$1 code=0
  shift
  timeout -k 1 "$limit" "$sanitizer" --tool "$tool" --target-processes all --error-exitcode $found_something --print-limit 20 \
    "$@" >"$work/output" 2>&1 || code=$?
  values+="${values:+, }\"$name\": $code"
  if [ $code -ne 0 ]; then
    holds=false
    echo "compute_sanitizer.sh: $tool: $name ended with $code" >&2
    tail -40 "$work/output" >&2
  fi
}

run kernels "$check"
if [ -x "$loop" ]; then
  run matmul "$loop" "$programs/lib/weft/fill_matmul.so:size=64,products=4" "$work/matmul" 3
  run pagerank "$loop" "$programs/lib/weft/fill_pagerank.so:vertices=2048" "$work/pagerank" 3
fi
if [ "$tool" = memcheck ] && [ -x "$programs/bin/bubble_case" ]; then
  export LD_LIBRARY_PATH="$programs/lib/stand_in${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  run weft "$programs/bin/weft" run --quiet --fill "$programs/lib/weft/fill_matmul.so:size=64,products=4" --memory 64MiB \
    --output "$work/trace" -- "$programs/bin/bubble_case" --iterations 12 --report "$work/report.json"
fi
printf '{"case": "sanitizer-%s", "simulated": false, "holds": %s, "values": {%s}}\n' "$tool" "$holds" "$values"
$holds
