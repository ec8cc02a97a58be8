# Of tests with a feeder, to be sourced: trains on four simulated GPUs, with Weft and without, and compares. Wants the
# variables `build`, `work` (a folder) and `case` (its name).
fail() { tail -n 30 "$work"/*.messages; echo "$case: $1"; exit 1; }
trainer() { echo "$build/bin/trainer" --launch "${ranks:-4}" --iterations "$1" --microbatches 4 --hidden 32 --sequence 16 --batch 2 --text LICENSE; }
# The begin of the losses is the same for any number of iterations.
train() {  # name, iterations, options of weft run...
  timeout 150 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" run --output "$work/$1.trace" --set log=info "${@:3}" -- \
    $(trainer "$2") >"$work/$1.log" 2>"$work/$1.messages"
  local code=$?
  [ -n "${WEFT_FEEDER:-}" ] || feeder_has_ended
  return $code
}
without_weft() { timeout 150 scripts/on-simulated-gpu --build "$build" $(trainer "$1") >"$work/plain.log"; }
losses() { grep -o 'loss [0-9.]*' "$1"; }
same_losses() { diff <(losses "$work/plain.log") <(losses "$work/$1.log") >/dev/null || fail "the losses of $1 differ"; }
make_records() { tests/e2e/make_records.py "$1" "$2"; }
results_are_right() { cmp "$work/in.npy" "$work/out.npy" || fail "the results are not those of the records"; }
# The feeder ends a moment after the command.
feeder_has_ended() {
  for ((i = 0; i < 100; ++i)); do
    [ -n "$(find /dev/shm -maxdepth 1 -name 'weft-*')" ] || return 0
    sleep 0.1
  done
  fail "/dev/shm has $(ls /dev/shm)"
}
