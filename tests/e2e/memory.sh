#!/usr/bin/env bash
# A training that runs out of device memory because of the fill job's reservation: over a sweep, it must never see an error
# that it does not see without Weft, and its losses must be the same.
#   memory.sh SOURCE BUILD sizes [STEP_KIB]        sizes of the device, from the smallest with which the training alone works
#                                                  to one that has room for the reservation too
#                                                  (WEFT_TEST_HEADROOM: with this head-room)
#   memory.sh SOURCE BUILD allocations [LAST]      the first, second, ... LAST allocation of each process fails, once
# `sizes` also with more of the trainer's arguments behind STEP_KIB.
set -uo pipefail
source_dir=$1 build=$2 what=$3 most=${4:-}
shift $(($# < 4 ? $# : 4))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trainer=("$build/bin/trainer" --launch 4 --iterations 2 --sequence 8 --batch 2 --text "$source_dir/LICENSE" "$@")
[[ " $* " == *" --microbatches "* ]] || trainer+=(--microbatches 2)
[[ " $* " == *" --hidden "* ]] || trainer+=(--hidden 16)
simulated=(timeout 100 "$source_dir/scripts/on-simulated-gpu" --build "$build")
reservation=64  # MiB
head_room=${WEFT_TEST_HEADROOM:-0}
given_back='needed the memory|less device memory was left'
export SIMGPU_DEVICES=4
losses() { sed 's/  [0-9.]* ms$//' "$1"; }
fail() { echo "$1"; echo "--- stderr"; cat "$work/err"; exit 1; }
plain() { "${simulated[@]}" "${trainer[@]}" >"$work/$1" 2>"$work/err"; }
filled() {
  "${simulated[@]}" "$build/bin/weft" run --fill matmul --output "$work/trace" --set WEFT_MEMORY=${reservation}MiB --set WEFT_HEADROOM="$head_room" -- \
    "${trainer[@]}" >"$work/filled" 2>"$work/err"
}
same_losses() { diff <(losses "$work/plain") <(losses "$work/filled") >/dev/null; }
plain plain || fail "the training fails without Weft"

if [ "$what" = sizes ]; then
  step=${most:-256} least=1024
  until SIMGPU_MEMORY=${least}KiB plain least; do
    least=$((least + step))
    [ $least -lt 65536 ] || fail "the training needs more than 64 MiB"
  done
  sizes=("$least" $((least + step)) $((least * 2)))
  for ((size = reservation * 1024 + step; size <= reservation * 1024 + least + 4096; size += step)); do sizes+=("$size"); done
  rescued=0 before=0
  for size in "${sizes[@]}"; do
    SIMGPU_MEMORY=${size}KiB filled || fail "$size KiB: the training fails under Weft; alone it needs $least KiB"
    same_losses || fail "$size KiB: the losses differ"
    if grep -qE "$given_back" "$work/err"; then rescued=$((rescued + 1)); fi
    if grep -q 'less device memory was left' "$work/err"; then before=$((before + 1)); fi
  done
  [ $rescued -ge 3 ] || fail "the memory was given back in $rescued of ${#sizes[@]} runs only: this tests nothing"
  [ $before -ge 3 ] || [ $head_room = 0 ] || fail "it was given back in time in $before runs only"
  if grep -qE "$given_back|observing only" "$work/err"; then fail "$size KiB are too few for training and reservation"; fi
  echo "least $least KiB, ${#sizes[@]} sizes, given back in $rescued, $before of them before an allocation failed"
else
  last=${most:-48} first=0 rescued=0
  for ((number = 1; number <= last; ++number)); do
    if SIMGPU_FAULTS=alloc@$number filled; then
      same_losses || fail "alloc@$number: the losses differ"
      [ $first -ne 0 ] || first=$number
      if grep -q 'needed the memory' "$work/err"; then rescued=$((rescued + 1)); fi
    else
      # Memory allocated before the first communicator is the training's own affair.
      [ $first -eq 0 ] || fail "alloc@$number: the training fails under Weft, although Weft has memory to give"
      SIMGPU_FAULTS=alloc@$number plain least && fail "alloc@$number: the training fails under Weft only"
    fi
  done
  [ $rescued -ge 3 ] || fail "the memory was given back in $rescued of $last runs only: this tests nothing"
  echo "the first $((first - 1)) fail as without Weft, given back in $rescued of $last"
fi
