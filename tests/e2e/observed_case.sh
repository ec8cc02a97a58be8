# Sourced by the tests of one case of a program of two ranks, whose trace is held against what really ran (SOURCE BUILD PROGRAM
# QUEUES CASE are their arguments): runs it, observed, and leaves trace, truth and err in $work.
set -uo pipefail
source_dir=$1 build=$2 program=$3 queues=$4 case=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Slower still where scripts/sanitize asks for it.
export SIMGPU_TIME_SCALE=$((8 * ${SIMGPU_TIME_SCALE:-1})) SIMGPU_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=$queues XDG_RUNTIME_DIR=$work
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
fail() { echo "$(basename "$0" .sh): $1"; tail -n 40 "$work/err"; exit 1; }

mkdir "$work/truth"
SIMGPU_LOG=$work/truth timeout 100 "${simulated[@]}" "$build/bin/weft" run --observe --output "$work/trace" -- \
  "$program" "$case" 2>"$work/err" || fail "it fails with Weft"
