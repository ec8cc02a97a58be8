#!/usr/bin/env bash
# A fill job whose init takes seven seconds: the training begins without it and trains as without Weft; its bubbles are
# filled from a quiet moment on, after a host wait at the end of an iteration.
#   late_trial.sh SOURCE BUILD JOB
set -uo pipefail
source_dir=$1 build=$2 job=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=2 XDG_RUNTIME_DIR=$work WEFT_LOG=info
# Beyond the trial, where an iteration takes longer as well.
iterations=$(awk -v scale="${SIMGPU_TIME_SCALE:-1}" 'BEGIN { print int(400 / (scale > 1 ? scale : 1)) + 40 }')
trainer=("$build/bin/trainer" --launch 2 --iterations $iterations --microbatches 4 --hidden 32 --sequence 16 --batch 2 --text "$source_dir/LICENSE")
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
losses() { sed 's/  [0-9.]* ms$//' "$1"; }
fail() { echo "$1"; tail -n 40 "$work/err"; exit 1; }

timeout 150 "${simulated[@]}" "${trainer[@]}" >"$work/plain" 2>"$work/err" || fail "the training fails without Weft"
timeout 200 "${simulated[@]}" "$build/bin/weft" run -q --fill "$job:12,4096,sleep7" --memory 64MiB --slowdown-budget off \
  --output "$work/trace" -- "${trainer[@]}" >"$work/out" 2>"$work/err" || fail "the training fails"
diff <(losses "$work/plain") <(losses "$work/out") >/dev/null || fail "the losses differ"
[ "$(grep -c 'is not over yet' "$work/err")" -ge 1 ] || fail "the trial was not late"
[ "$(grep -c 'filling begins, after a late trial' "$work/err")" -eq 2 ] || fail "not both ranks began to fill"
for rank in 0 1; do
  [ "$(cat "$work"/trace/rank$rank.*.jsonl | grep -c '"type": *"slice"')" -ge 1 ] || fail "rank $rank has filled nothing"
done
