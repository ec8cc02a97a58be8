#!/usr/bin/env bash
# A launcher that takes every child that ends for one of its ranks: the trainer's own, as PID 1 of a PID namespace, as in a
# container without init. With a fill job it trains as without.
#   launcher_waits.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trainer=("$build/bin/trainer" --launch 2 --iterations 6 --microbatches 2 --hidden 16 --sequence 8 --batch 2 --text "$source_dir/LICENSE")
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
alone=(unshare --pid --fork --mount-proc --kill-child)
export SIMGPU_DEVICES=2
losses() { sed 's/  [0-9.]* ms$//' "$1"; }

"${alone[@]}" true 2>/dev/null || exit 77  # no namespaces for this user: the test is skipped
timeout 60 "${simulated[@]}" "${trainer[@]}" >"$work/plain" || { echo "the training fails without Weft"; exit 1; }
timeout 150 "${alone[@]}" "${simulated[@]}" "$build/bin/weft" run -q --fill "$build/lib/weft/fill_matmul.so" \
  --output "$work/trace" -- "${trainer[@]}" >"$work/out" 2>"$work/err"
code=$?
[ $code -eq 0 ] || { echo "exit code $code"; cat "$work/err"; exit 1; }
diff <(losses "$work/plain") <(losses "$work/out") || { echo "the training is not that without Weft"; exit 1; }
grep -q 'filling bubbles with' "$work/err" || { echo "nothing was to be filled"; cat "$work/err"; exit 1; }
