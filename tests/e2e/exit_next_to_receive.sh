#!/usr/bin/env bash
# A rank that exits while its receive is blocked, because the peer has stopped: under Weft, filling, it must be gone as
# soon as without. The fill job's CUDA runtime has an exit handler of its own, which may not wait for the GPU.
#   exit_next_to_receive.sh SOURCE BUILD EXIT_EARLY
set -uo pipefail
source_dir=$1 build=$2 exit_early=$3
work=$(mktemp -d)
ranks=()
trap 'kill -KILL "${ranks[@]}" 2>/dev/null; rm -rf "$work"' EXIT
fail() { echo "exit_next_to_receive: $1"; cat "$work/err"; exit 1; }

# Waits up to $1 seconds for the rest, a command, to hold.
within() {
  local turns=$(($1 * 10))
  shift
  until "$@"; do
    ((turns-- > 0)) || return 1
    sleep 0.1
  done
}
# A rank that has ended stays a zombie when the launcher, too, has.
gone() { [ ! -e "/proc/$1/stat" ] || grep -q ') Z ' "/proc/$1/stat"; }
trains() { [ "$(grep -c '^iteration' "$work/out")" -ge 2 ]; }

cp "$exit_early" "$work/exit_early.so"  # LD_PRELOAD holds no path with a blank
EXIT_WHEN=$work/exit LD_PRELOAD=$work/exit_early.so "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" run -q \
  --output "$work/trace" --fill "$build/lib/weft/fill_matmul.so:size=32,products=4" -- "$build/bin/trainer" --launch 2 \
  --iterations 100000 --hidden 16 --sequence 8 --batch 2 --text "$source_dir/LICENSE" >"$work/out" 2>"$work/err" &
launcher=$!
ranks=("$launcher")
within 60 trains || fail "the training does not begin"
mapfile -t children < <(pgrep -P "$launcher")
ranks+=("${children[@]}")
[ "${#children[@]}" -eq 2 ] || fail "there are ${#children[@]} ranks"
kill -STOP "${children[0]}"
sleep 0.5  # by now the other rank waits for it
kill -STOP "$launcher"  # which would kill the rank that is left
touch "$work/exit"
within 30 gone "${children[1]}" || fail "the rank does not end"
