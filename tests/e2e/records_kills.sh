#!/usr/bin/env bash
# Trainings with 2 to 4 ranks that work on one file of records, one after the other, and random SIGKILLs of a rank, of the
# feeder, or of everything; then one that is left alone. Every record has its result once, and it is right.
#   records_kills.sh SOURCE BUILD ECHO_JOB KILLS SEED
set -uo pipefail
source_dir=$1 build=$2 echo_job=$3 kills=$4
RANDOM=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
fail() { tail -n 20 "$work"/*.messages; echo "$1"; exit 1; }
tests/e2e/make_records.py "$work/in.npy" 30000
train() {  # iterations
  exec timeout 200 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" run --quiet --output "$work/trace$2" --set log=info \
    --fill "$echo_job:4,x,slow" --input "$work/in.npy" --results "$work/out.npy" -- \
    "$build/bin/trainer" --launch $((2 + RANDOM % 3)) --iterations "$1" --microbatches 4 --hidden 32 --sequence 16 --batch 2 --text LICENSE \
    >/dev/null 2>"$work/$2.messages"
}
files=0
for ((done = 0; done < kills; ++done)); do
  train 400 killed &
  sleep "$((RANDOM % 3)).$((RANDOM % 10))"
  sleep 0.5
  case $((RANDOM % 3)) in
    0) victims=$(pgrep -f "^$build/bin/trainer" | sort -R | head -n 1) ;;
    1) victims=$(pgrep -f "^$build/lib/weft/weft-feeder") ;;
    *) victims=$(pgrep -f "^$build/(bin/(trainer|weft)|lib/weft/weft-feeder)") ;;
  esac
  # shellcheck disable=SC2086
  kill -KILL $victims 2>/dev/null
  sleep 0.2
  pkill -KILL -f "^$build/bin/trainer"
  wait
  if [ -e "$work/out.npy" ]; then
    cmp "$work/in.npy" "$work/out.npy" || fail "after $done kills the results are not those of the records"
    # A feeder that was not killed may still be clearing away what it has put together.
    for ((i = 0; i < 200; ++i)); do pgrep -f "^$build/lib/weft/weft-feeder" >/dev/null || break; sleep 0.1; done
    rm -r "$work/out.npy" "$work/out.npy.weft" || fail "after $done kills the feeder still works 20 s after its training"
    files=$((files + 1))
  fi
done
for ((round = 0; round < 6; ++round)); do
  [ -e "$work/out.npy" ] || (train 150 "rest$round")
  sleep 1.5
done
[ -e "$work/out.npy" ] || fail "after the kills there are records without a result: $(ls "$work/out.npy.weft/running" "$work/out.npy.weft/todo" | head)"
cmp "$work/in.npy" "$work/out.npy" || fail "the results are not those of the records"
echo "$kills kills, $((files + 1)) files of 30000 records: each result once and right"
