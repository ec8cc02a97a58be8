#!/usr/bin/env bash
# weft top beside a real run on simulated GPUs: its numbers during the run and after it, a process that is killed, and
# runs that leave no page.
#   top.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
weft=$build/bin/weft
export SIMGPU_DEVICES=4
fail() { echo "top: $1"; tail -5 "$work"/*.log "$work/err" 2>/dev/null; exit 1; }
# train NAME ITERATIONS ARGUMENT...: arguments of weft run
train() {
  local name=$1 iterations=$2
  shift 2
  timeout 250 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$weft" run -q --output "$work/$name" "$@" -- \
    "$build/bin/trainer" --launch 4 --schedule 1f1b --microbatches 8 --iterations "$iterations" --hidden 32 \
    --sequence 16 --batch 2 --text "$source_dir/LICENSE" >"$work/$name.log" 2>&1
}

train filled 100 --fill "$build/lib/weft/fill_matmul.so" &
training=$!
looks=()
while kill -0 "$training" 2>/dev/null; do
  sleep 0.7
  if "$weft" top --json "$work/filled" >"$work/look${#looks[@]}.json" 2>/dev/null; then
    looks+=("$work/look${#looks[@]}.json")
  fi
done
wait "$training" || fail "the training ended with exit code $?"
python3 "$source_dir/tests/e2e/top.py" "$weft" "$work/filled" "${looks[@]}" || fail "the numbers are not right"
"$weft" top --once "$work/filled" >"$work/text" 2>"$work/err" || fail "weft top --once: exit code $?"
grep -q '4 ranks: 4 ended   fill: matmul' "$work/text" || { cat "$work/text"; fail "the table does not say it"; }

# Killed: the process is gone, and said nothing.
train killed 2000 --observe &
training=$!
for ((i = 0; i < 300; ++i)); do
  [ "$(ls "$work/killed" 2>/dev/null | grep -c '\.live$')" = 4 ] && break
  sleep 0.2
done
process=$(ls "$work/killed" | sed -n 's/^rank2\.\([0-9]*\)\.live$/\1/p')
[ -n "$process" ] || fail "rank 2 has no page"
kill -KILL "$process"
wait "$training"
"$weft" top --once "$work/killed" >"$work/text" 2>"$work/err" || fail "weft top --once: exit code $?"
grep -q '^note: rank .*2.*: the process is gone, and has not said that it ends$' "$work/text" ||
  { cat "$work/text"; fail "nothing is said of the killed rank"; }

train off 8 --observe --live off || fail "exit code $? without pages"
[ -z "$(ls "$work/off" | grep '\.live$')" ] || fail "pages although they are off"
"$weft" top --once "$work/off" >"$work/text" 2>"$work/err" && fail "weft top shows a run without pages"
grep -q "^weft: error: no rank has a page (rank\*.live) in $work/off" "$work/err" || fail "stderr does not say why"
