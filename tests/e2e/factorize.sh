#!/usr/bin/env bash
# A fill job that learns and keeps its progress: its losses have the same bits on each rank, in slices of another length,
# and where a second training went on with the progress of the first one. They are those of the same steps in NumPy, and
# the training computes the same numbers as without it. Progress of another graph or shape is refused, and stays.
#   factorize.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2 case=factorize ranks=2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
. tests/e2e/with_feeder.sh
example=examples/fill/factorize/example.py
learn() {  # name, folder of the progress, length of slices
  WEFT_CHECKPOINT=$2/progress train "$1" 10 --fill "@$work/job.toml" --slice "$3" || fail "exit code $?"
  same_losses "$1"
  "$example" check "$2" >"$work/$1.check" || fail "the progress of $1 is not right"
  cat "$work/$1.check"
}
steps() { sed 's/.* of \([0-9]*\), .*/\1/' "$work/$1.check"; }  # of the rank that has done the fewest
same_bits() { "$example" compare "$1" "$2" || fail "$1 and $2 differ"; }

"$example" make "$work" || fail "the example cannot be made"
mkdir "$work/once" "$work/twice"
cp "$work/ratings.txt" "$work/once"
cp "$work/ratings.txt" "$work/twice"
without_weft 10
learn once "$work/once" 300us
learn begins "$work/twice" 120us
learn goes_on "$work/twice" 600us
[ "$(steps goes_on)" -gt "$(steps begins)" ] || fail "the second training did not go on"
same_bits "$work"/once/progress/rank[01].progress
same_bits "$work/once/progress/rank0.progress" "$work/twice/progress/rank1.progress"

before=$(cat "$work"/twice/progress/*.progress | cksum)
refused() {  # name
  WEFT_CHECKPOINT=$work/twice/progress train "$1" 10 --fill "@$work/job.toml" || fail "exit code $?"
  same_losses "$1"
  grep -q 'is of another graph or of other factors' "$work/$1.messages" || fail "it does not say why it is refused"
  [ "$(cat "$work"/twice/progress/*.progress | cksum)" = "$before" ] || fail "refused progress was written over"
}
# Another graph of the same counts: the value of one edge differs.
sed -i '$s/[0-9]$/&1/' "$work/ratings.txt"
refused other_graph
cp "$work/once/ratings.txt" "$work"
sed -i 's/factors=[0-9]*/factors=5/' "$work/job.toml"
refused other_factors
