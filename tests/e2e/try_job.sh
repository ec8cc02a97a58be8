#!/usr/bin/env bash
# weft try: a sound job, one that is confined, and jobs that a training would refuse: the words, the JSON, the exit codes.
#   try_job.sh SOURCE BUILD ANY_GRID KERNELS BAD_JOBS COPY_JOB LONGEST     LONGEST: a kernel of 150 us on this host, in ms
set -uo pipefail
source_dir=$1 build=$2 any_grid=$3 bad=$5 copy_job=$6 longest=$7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# So that kernels of 100 us are short ones also where the host is instrumented.
export WEFT_SLICE=2ms
export SIMGPU_DEVICES=1 SIMGPU_KERNELS=$4 XDG_RUNTIME_DIR=$work
fail() { echo "$name: $1"; cat "$work/out" "$work/err"; exit 1; }

try() {  # name, exit code, arguments...
  name=$1
  timeout 100 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" try "${@:3}" >"$work/out" 2>"$work/err"
  local code=$?
  [ $code -eq "$2" ] || fail "exit code $code, not $2"
}
says() { grep -q -- "$1" "$work/out" "$work/err" || fail "it does not say: $1"; }

try sound 0 matmul:size=64 --units 2
says '^job       matmul, keeps its progress'
says '^units     2 run, 2 right, 0 wrong, 0 not checked'
says '^confined  by its own small grids'
says ' blocks  fill_product$'
says '^sound     a training would run it'

try green 0 "$any_grid:6,150000" --json
python3 - "$work/out" "$longest" <<'PYTHON' || fail "the JSON is wrong"
import json, sys

tried = json.load(open(sys.argv[1]))
assert tried["sound"] and tried["fault"] == "" and tried["job"] == "any_grid", tried
assert tried["confinement"] == "green" and tried["multiprocessors"] == 124, tried
assert tried["units"] == tried["units_right"] == 3 and tried["units_wrong"] == 0, tried
assert [node["kind"] for node in tried["nodes"]] == ["set"] + 7 * ["kernel"], tried["nodes"]
kernels = [node for node in tried["nodes"] if node["name"] == "any_grid_add"]
assert len(kernels) == 6 and all(node["blocks"] == 10000 for node in kernels), kernels
assert all(100_000 <= node["alone"] <= 1_000_000 * int(sys.argv[2]) for node in kernels), kernels
assert tried["memory"] == 4096 * 4 and tried["memory_cap"] == 1 << 30, tried
PYTHON

try long 3 "$any_grid:1,7500000" --confine none
says '^refused   .*kernel 2 of the unit has 10000 thread blocks.*longer than a slice (WEFT_SLICE) of 2000 us'
try longer_slices 0 "$any_grid:1,7500000" --confine none --slice 10ms
says '^confined  by nothing: WEFT_CONFINE=none'
try small 3 "$any_grid:6,150000" --memory 1MiB --confine job
says 'WEFT_CONFINE=job allows no other way'

try fails 3 "$bad/bad_init_fails.so:because"
says '^refused   fill job .*: init failed'
try crashes 3 "$bad/bad_init_crashes.so"
says '^refused   fill job .*bad_init_crashes.so crashed in init'
try hangs 3 "$bad/bad_init_hangs.so" --limit 2s
says 'hung in init: it took longer than 2 s (--limit)'
try empty 3 "$bad/bad_sound.so"
says 'the unit contains no work'

try marked 0 "$copy_job:2,3145728,marked" --units 3
says '^memory    10.0 MiB of 1024.0 MiB on the device'
says '^          3.0 MiB of it may go to the host between two bubbles$'
says '^units     3 run, 3 right'

name=offload
mkdir "$work/score"; python3 "$source_dir/examples/fill/score/example.py" make "$work/score" >"$work/out" 2>"$work/err" || fail "no example"
SIMGPU_KERNELS="" try offload 0 score:offload=1 --weights "$work/score/weights.safetensors" --input "$work/score/tokens.jsonl"
says 'KiB of it may go to the host\|MiB of it may go to the host'
says '^units     3 run, 3 right'

try passes 0 "$copy_job:2,4096,passes" --units 2
says '^passes    3.0 of it for a unit'
says '^units     2 run, 2 right'
try endless 3 "$copy_job:2,4096,pass"
says '^refused   fill job .*: has a unit that is not over after 3 passes'

try missing 1 no_such_job
says "weft: error: fill job 'no_such_job': no such file"
try list 2 "matmul;matmul:size=64"
says 'weft try takes one job'
try wish 2 matmul --confine sideways
says "weft: error: .*WEFT_CONFINE.*sideways"
try nothing 2
says 'JOB is required'
SIMGPU_KERNELS="" try no_gpu 3 matmul --device 3
says '^refused   '
