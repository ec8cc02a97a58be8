#!/usr/bin/env bash
# Fill jobs whose kernels have 10,000 blocks, take 5 ms, may begin early, or stand in child graphs: taken, sliced, right,
# and kept off the reserved multiprocessors by a green context, as the simulator's log shows. Where there is none they
# run only if they are short, which is said; WEFT_CONFINE decides.
#   any_grid.sh SOURCE BUILD JOB KERNELS SLICE
set -uo pipefail
source_dir=$1 build=$2 job=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# SLICE: milliseconds, in which kernels of 100 us end also where the host is instrumented.
export WEFT_SLICE=$5ms
long=1,$(($5 * 3750000))  # two slices and a half: 5 ms of 2 ms
export SIMGPU_DEVICES=2 SIMGPU_KERNELS=$4 XDG_RUNTIME_DIR=$work WEFT_LOG=info
trainer=("$build/bin/trainer" --launch 2 --iterations 8 --microbatches 4 --text "$source_dir/LICENSE")
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
losses() { sed 's/  [0-9.]* ms$//' "$1"; }
fail() { echo "$name: $1"; tail -n 40 "$work/$name.err"; exit 1; }

run() {  # name, arguments of the job, settings as of env...
  name=$1
  mkdir -p "$work/$name.log"
  timeout 120 env SIMGPU_LOG="$work/$name.log" "${@:3}" "${simulated[@]}" "$build/bin/weft" run --fill "$job:$2" \
    --memory 64MiB --slowdown-budget off --output "$work/$name" -- "${trainer[@]}" >"$work/$name.out" 2>"$work/$name.err" ||
    fail "the training fails"
  diff <(losses "$work/plain.out") <(losses "$work/$name.out") >/dev/null || fail "the losses differ"
  "$build/bin/weft" summary --json "$work/$name" >"$work/$name.json"
}
says() { grep -q -- "$1" "$work/$name.err" || fail "it does not say: $1"; }

# Units are done and right; the confinement is as said; slices run where it allows. (The warm-up of a unit runs anywhere,
# at a time at which nothing of NCCL can.)
filled() {  # confinement, lowest multiprocessor of a fill kernel
  python3 - "$work/$name" "$@" <<'PYTHON' || fail "it has not filled as it should"
import glob, json, sys

path, confinement, lowest = sys.argv[1], sys.argv[2], int(sys.argv[3])
total = json.load(open(path + ".json"))["total"]
assert total["fill_units"] > 0 and total["fill_units_wrong"] == 0, total
assert total["fill_confinement"] == confinement, total["fill_confinement"]
assert not total["filling_stopped"], total
seen = 0
for log in glob.glob(path + ".log/*.jsonl"):
    for line in open(log):
        record = json.loads(line)
        in_bubble = record.get("thread") == "weft-dispatch"
        if record.get("type") == "kernel" and record["name"] == "any_grid_add" and in_bubble:
            seen += 1
            assert record["blocks"] == 10000, record
            assert record["lowest_sm"] >= lowest, record
assert seen >= total["fill_units"], seen
print(f"{sys.argv[1].split('/')[-1]}: {total['fill_units']} units, {total['conversion']:.3f} of the idle time filled")
PYTHON
}

name=plain
timeout 120 "${simulated[@]}" "${trainer[@]}" >"$work/plain.out" 2>"$work/plain.err" || fail "the training fails without Weft"

run large 6,150000
filled green 8
says 'filling bubbles with any_grid, confined by a green context'
says 'any_grid is confined to [0-9]* multiprocessors by a green context'

run long "$long"
filled green 8
says 'a kernel or copy of fill job any_grid takes [0-9]* us, more than WEFT_SLICE'

for kind in early child,event; do
  run $kind 6,150000,$kind
  filled green 8
done

run older 6,150000 SIMGPU_DRIVER_VERSION=12030
filled none 0
says 'in kernels of any size that nothing confines'
says 'are not confined (cuDeviceGetDevResource failed with CUDA_ERROR_NOT_SUPPORTED): NCCL may wait for one of them'

run module 6,150000,module
filled none 0
says 'belongs to one context: it is of a module (cuModuleLoad)'

run wish 6,150000 WEFT_CONFINE=none
filled none 0

refused() {
  python3 -c 'import json, sys; total = json.load(open(sys.argv[1]))["total"]; sys.exit(total["slices"] + total["fill_units"])' \
    "$work/$name.json" || fail "something was filled"
}
run refused_long "$long" WEFT_CONFINE=none
says 'NCCL would wait for it, as nothing confines it (WEFT_CONFINE=none)'
refused
run refused_job 6,150000 WEFT_CONFINE=job
says 'WEFT_CONFINE=job allows no other way'
refused
run refused_green 6,150000 WEFT_CONFINE=green SIMGPU_DRIVER_VERSION=12030
says 'WEFT_CONFINE=green cannot be kept: '
refused
