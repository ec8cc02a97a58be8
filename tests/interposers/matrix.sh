#!/usr/bin/env bash
# A training beside another interposer, in front of Weft and behind it: its results and what the interposer counts are as
# without Weft; and either Weft sees the bubbles that it sees without the interposer, or it says in one line which
# library keeps it from that.
#   matrix.sh SOURCE BUILD FOLDER LIBRARY
# FOLDER holds the interposers. LIBRARY is the file of one; or "driver", a folder of its own that has a libcuda.so.1; or
# "none", which makes the numbers that the others are compared with.
set -uo pipefail
source_dir=$1 build=$2 folder=$3 library=$4
cd "$source_dir"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export INTERPOSER_DRIVER=$build/lib/simgpu/libcuda.so.1
path=$folder:$build/lib/weft
[[ $library == driver ]] && path=$folder/driver:$path
failures=0

fail() {
  echo "FAILED: $library, $1"
  shift
  ((failures += 1))
  tail -n 20 "$@"
}

# run NAME PRELOAD ITERATIONS [VARIABLE=VALUE...]
run() {
  local name=$1 preload=$2 iterations=$3
  shift 3
  scripts/on-simulated-gpu --build "$build" bash -c '
    path=$1 preload=$2 build=$3 iterations=$4
    shift 4
    export LD_LIBRARY_PATH="$path:$LD_LIBRARY_PATH"
    exec env LD_PRELOAD="$preload" "$@" timeout 120 "$build/bin/trainer" --launch 2 --microbatches 2 --iterations "$iterations" \
      --text LICENSE' run "$path" "$preload" "$build" "$iterations" INTERPOSER_CALLS="$work/$name.calls" \
    WEFT_OUTPUT="$work/$name.traces" WEFT_SUMMARY=off "$@" >"$work/$name.out" 2>"$work/$name.err"
  local status=$?
  sed -n 's/^\(iteration [0-9]* *loss [0-9.]*\).*/\1/p' "$work/$name.out" >"$work/$name.losses"
  ((status == 0)) || fail "$name: status $status" "$work/$name.out" "$work/$name.err"
}

idle_of() {
  "$build/bin/weft" summary --json "$1" 2>/dev/null | sed -n 's/.*"idle_share": \([0-9.]*\).*/\1/p' | tail -n 1
}
units_of() {
  "$build/bin/weft" summary --json "$1" 2>/dev/null | sed -n 's/.*"fill_units": \([0-9]*\).*/\1/p' | tail -n 1
}

if [[ $library == none ]]; then
  run alone libweft.so 12 WEFT=observe
  idle_of "$work/alone.traces" >"$folder/idle"
  echo "idle without an interposer: $(cat "$folder/idle")"
  [[ -s $folder/idle ]] || fail "no idle share" "$work/alone.err"
  exit $((failures != 0))
fi

interposer=$library
[[ $library == driver ]] && interposer=
name_of_culprit=${interposer:-libcuda.so.1}
run plain "$interposer" 4
for order in first second; do
  [[ $order == first ]] && preload="libweft.so $interposer" || preload="$interposer libweft.so"
  [[ $library == driver && $order == second ]] && continue
  for mode in off observe fill; do
    name=$mode.weft_$order
    iterations=12
    [[ $mode == off ]] && iterations=4
    run "$name" "$preload" "$iterations" WEFT=$mode WEFT_FILL="$build/lib/weft/fill_matmul.so"
    diff <(head -n 4 "$work/plain.losses") <(head -n 4 "$work/$name.losses") >"$work/diff" && [[ -s $work/plain.losses ]] ||
      fail "$name: other results" "$work/diff" "$work/$name.err"
    if [[ $mode == off ]]; then
      [[ -s $work/$name.err ]] && fail "$name: says something" "$work/$name.err"
      diff <(sort "$work/plain.calls" 2>/dev/null) <(sort "$work/$name.calls" 2>/dev/null) >"$work/diff" ||
        fail "$name: the interposer is called otherwise" "$work/diff"
      continue
    fi
    if grep -q "not active.*$name_of_culprit" "$work/$name.err"; then
      (($(grep -c 'not active' "$work/$name.err") == 2)) || fail "$name: not one line per rank" "$work/$name.err"
      echo "$library, $name: named: $(grep -m 1 'not active' "$work/$name.err")"
      continue
    fi
    [[ -e $work/$name.traces ]] || { fail "$name: neither numbers nor a reason" "$work/$name.err"; continue; }
    idle=$(idle_of "$work/$name.traces")
    echo "$library, $name: idle $idle, units $(units_of "$work/$name.traces")"
    awk -v now="${idle:-9}" -v alone="$(cat "$folder/idle")" 'BEGIN { exit !(now > alone - 0.06 && now < alone + 0.06) }' ||
      fail "$name: idle ${idle:-unknown}, without the interposer $(cat "$folder/idle")" "$work/$name.err"
    [[ $mode == fill && $(units_of "$work/$name.traces") -lt 1 ]] && fail "$name: nothing filled" "$work/$name.err"
  done
done
exit $((failures != 0))
