#!/usr/bin/env bash
# An example fill job with files alone on a simulated GPU: weft try runs it on its example and finds it right, and the job
# refuses, in one line, files and arguments that are not for it.
#   fill_example.sh SOURCE BUILD JOB
set -uo pipefail
source_dir=$1 build=$2 job=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
fail() { cat "$work/out"; echo "$job: $1"; exit 1; }
try() {  # exit code, job, options
  scripts/on-simulated-gpu --build "$build" "$build/bin/weft" try "$2" "${@:3}" >"$work/out" 2>&1
  local code=$?
  [ "$code" -eq "$1" ] || fail "weft try $2 ended with $code and not with $1"
}
refuses() {  # text, job, options
  try 3 "${@:2}"
  grep -q -- "^refused   .*$1" "$work/out" || fail "it does not say: $1"
}

"examples/fill/$job/example.py" make "$work" || fail "the example cannot be made"
if [ "$job" = pagerank ]; then
  "examples/fill/$job/example.py" check "$work" >"$work/out" 2>&1 && fail "no results, and its check is content"
  [ "$(cat "$work/out")" = "there are no results yet" ] || fail "its check does not say that there are no results"
fi
case $job in
  factorize)
    printf '1\t2\n2\t3\n' >"$work/plain.txt"
    printf '1 2 0.5\n2 3 inf\n' >"$work/bad.tsv"
    refuses "the edges have no values (a third column)" factorize --weights "$work/plain.txt"
    refuses "bad.tsv: line 2 has 'inf' for a value" factorize --weights "$work/bad.tsv"
    refuses "argument rate=0: rate takes a whole number from 1 to 100000" factorize:rate=0 --weights "$work/ratings.txt"
    refuses "it reads records or weights, and no file is named" factorize
    # A rate that leads nowhere.
    refuses "not finite; a smaller rate may help" factorize:rate=50000 --weights "$work/ratings.txt"
    try 0 factorize:factors=3 --weights "$work/ratings.txt" --units 20
    grep -q '^units     20 run, 20 right, 0 wrong' "$work/out" || fail "not all units are right"
    # Minibatches of few edges, or of none, are no reason to refuse.
    printf '1 2 0.5\n2 3 1\n3 1 -2\n' >"$work/few.txt"
    for seed in 1 2 4 5; do
      try 0 "factorize:seed=$seed" --weights "$work/few.txt" --units 3
      grep -q '^units     3 run, 3 right, 0 wrong' "$work/out" || fail "not all units are right with the seed $seed"
    done ;;
  pagerank)
    files=(--weights "$work/graph.txt" --input "$work/seeds.jsonl")
    printf '1\t2\nnone\t3\n' >"$work/bad.txt"
    refuses "bad.txt: line 2 has 'none' for a vertex" pagerank --weights "$work/bad.txt" --input "$work/seeds.jsonl"
    refuses "argument damping=100: damping takes a whole number from 0 to 99" pagerank:damping=100 "${files[@]}"
    refuses "its tensors do not fit" pagerank:batch=65536 "${files[@]}" --memory 1MiB
    refuses "it reads records, and no file of records is named" pagerank --weights "$work/graph.txt"
    try 0 pagerank "${files[@]}" --units 20
    grep -q '^units     20 run, 20 right, 0 wrong' "$work/out" || fail "not all units are right" ;;
esac
