#!/usr/bin/env bash
# weft check on the simulated GPU: every answer that the simulator can give is found out, kept, and used by a run; files
# that cannot be written or read, another driver version, usage.
#   check.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
weft=$build/bin/weft
export SIMGPU_DEVICES=2 CUDA_DEVICE_MAX_CONNECTIONS=1 HOME=$work/home
unset XDG_CACHE_HOME WEFT_ANSWERS ${!SIMGPU_QUEUE*} ${!SIMGPU_HOST_WAIT*}
fail() { echo "check: $1"; echo "--- stdout"; cat "$work/out"; echo "--- stderr"; cat "$work/err"; exit 1; }
# check CODE ARGUMENT...
check() {
  local wanted=$1 code=0
  shift
  timeout 60 "${simulated[@]}" "$weft" check "$@" >"$work/out" 2>"$work/err" || code=$?
  [ "$code" = "$wanted" ] || fail "weft check $*: exit code $code, not $wanted"
}
says() { grep -qF -- "$1" "$work/$2" || fail "$2 does not say: $1"; }
# answers NAME=VALUE...: of the JSON form.
answers() {
  python3 - "$work/out" "$@" <<'CHECKS' || fail "other answers: $*"
import json, sys
result = json.load(open(sys.argv[1], encoding="utf-8"))
found = {name: json.dumps(value).strip('"') for name, value in (result | result["passes"]).items()}
wanted = dict(pair.split("=") for pair in sys.argv[2:])
sys.exit({name: found[name] for name in wanted} != wanted and f"found {found}")
CHECKS
}

check 0
says "Simulated GPU (not hardware), driver 13.0, 1 hardware queue" out
grep -qxE "NCCL 2\.[0-9]+\.[0-9]+: $build/lib/simgpu/libnccl.so.2" "$work/out" || fail "stdout does not name NCCL"
says "CUPTI 130" out
says "questions about hardware queues: 5 yes, 6 no (weft check --verbose)" out
says "so here idle time is measured, by recorded events; some may be uncertain: one hardware queue" out
says "        bubbles are filled while the host waits for the GPU and has enqueued nothing to compute" out
says "kept in $work/home/.cache/weft/Simulated-GPU--not-hardware--driver-13000-queues-1.answers" out
at_most_ten_lines() { [ "$(wc -l <"$work/out")" -le 10 ] || fail "more than can be read at once"; }
at_most_ten_lines
check 0 --verbose
says "  a stream-ordered write behind it  no, it waits" out
[ "$(grep -c '^  [a-z]' "$work/out")" = 11 ] || fail "a question is not listed"

# The libraries that a program would find. A check does its work without them.
WEFT_CUPTI=$work/none check 0 --answers "$work/kept"
says "no CUPTI: $work/none (WEFT_CUPTI) cannot be opened" out
WEFT_CUPTI=$work/none check 0 --json --answers "$work/kept"
answers 'cupti={"version": null, "path": null, "why": "'"$work/none"' (WEFT_CUPTI) cannot be opened"}'
mkdir "$work/driver_only"
cp -P "$build"/lib/simgpu/libcuda.so* "$build"/lib/simgpu/*_kernels.so "$work/driver_only"
touch "$work/driver_only/libnccl.so.2"
LD_LIBRARY_PATH=$work/driver_only SIMGPU_KERNELS=$(printf '%s:' "$work"/driver_only/*_kernels.so) \
  timeout 60 "$weft" check --answers "$work/kept" >"$work/out" 2>"$work/err" || fail "weft check without NCCL"
says "no NCCL: $work/driver_only/libnccl.so.2: file too short (PyTorch brings its own)" out
at_most_ten_lines

# Both answers to everything that the simulator can be told.
check 0 --json --answers "$work/kept"
answers nothing=true event=true write=false kernel=false wait=true wait_and_kernel=false above=false host_wait=true \
  host_and_stream_wait=true marks=events can_fill=true fillable=host_waits green=false green_balanced=false \
  fill_stream=plain
SIMGPU_QUEUE_RECORD=holds check 3 --json --answers "$work/events_hold"
answers nothing=true event=false wait=false host_wait=false marks=none can_fill=false fillable=none
SIMGPU_QUEUE_WRITE=passes check 0 --json --answers "$work/writes_pass"
answers write=true event=true marks=writes fillable=host_waits
SIMGPU_QUEUE_KERNEL=passes check 0 --json --answers "$work/kernels_pass"
# Fill work of its own stream would run there, and hold up the training by its mark.
answers kernel=true wait_and_kernel=true above=false green=false
SIMGPU_QUEUE_WAIT=holds check 0 --json --answers "$work/waits_hold"
answers wait=false event=true marks=events fillable=host_waits_alone
SIMGPU_QUEUE_RECORD_BEHIND_WAIT=holds check 0 --json --answers "$work/records_hold_behind_waits"
answers event=true wait=true host_and_stream_wait=false can_fill=true fillable=host_waits_alone
SIMGPU_HOST_WAIT_LAUNCH=holds check 0 --answers "$work/launches_stand"
says "        nothing is filled: what is launched while the host waits for the GPU does not run (weft check)" out
SIMGPU_QUEUE_GRAPH=holds SIMGPU_HOST_WAIT=all check 0 --json --answers "$work/harsh"
answers host_wait=true host_and_stream_wait=true fillable=host_waits
SIMGPU_QUEUE_PRIORITY=own check 0 --json --answers "$work/own"
answers above=true wait_and_kernel=false green_balanced=false fillable=host_waits fill_stream=plain
SIMGPU_QUEUE_PRIORITY=own WEFT_ONE_QUEUE=above check 0 --json --answers "$work/own"
answers fillable=any fill_stream=above
SIMGPU_DRIVER_VERSION=13010 SIMGPU_QUEUE_GREEN_CONTEXT=own check 0 --json --answers "$work/own"
answers green=false green_balanced=true above=false fillable=any fill_stream=green_context why={}
SIMGPU_DRIVER_VERSION=13010 WEFT_ONE_QUEUE=above check 0 --verbose --answers "$work/shared"
says "the same, balanced green context  no, it waits" out
says "        WEFT_ONE_QUEUE=above changes nothing here: streams of higher priority have no hardware queue" out
# A driver that has no such stream has answered by that, and the other answers count.
SIMGPU_DRIVER_VERSION=12030 check 0 --verbose --answers "$work/old"
says "the same, in a green context      no: cuDeviceGetDevResource (multiprocessors): CUDA_ERROR_NOT_SUPPORTED" out
says "the same, balanced green context  no: cuDeviceGetDevResource (workqueues): CUDA_ERROR_NOT_SUPPORTED" out
says "        bubbles are filled while the host waits for the GPU and has enqueued nothing to compute" out
CUDA_DEVICE_MAX_CONNECTIONS=8 check 0 --json --answers "$work/kept"
answers hardware_queues=8 write=true wait_and_kernel=true decided=true marks=events can_fill=true fillable=any
CUDA_DEVICE_MAX_CONNECTIONS=8 check 0 --answers "$work/nobody_asked"
says "of which none are kept: CUDA_DEVICE_MAX_CONNECTIONS=1 weft check" out
at_most_ten_lines

# A run uses them, and only those of its own driver version.
train() {
  timeout 120 "${simulated[@]}" "$weft" run --observe --answers "$1" --output "$work/trace-$RANDOM" -- "$build/bin/trainer" \
    --launch 2 --iterations 3 --microbatches 4 --hidden 16 --sequence 8 --batch 2 --text "$source_dir/LICENSE" \
    >"$work/out" 2>"$work/err" || fail "the training fails"
}
train "$work/events_hold"
says "one hardware queue, which an event holds up (weft check): bubbles are not measured, idle time is unknown" err
train "$work/kept"
says "observing bubbles; one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1): some time may be uncertain" err
SIMGPU_DRIVER_VERSION=12040 train "$work/events_hold"
says "observing bubbles; one hardware queue" err
echo "weft-answers 2" >"$work/kept/Simulated-GPU--not-hardware--driver-13000-queues-1.answers"
train "$work/kept"
says "are not used: line 1 is not understood" err
says "observing bubbles; one hardware queue" err

# It cannot be kept, or asked.
mkdir "$work/closed" && touch "$work/closed/file"
check 1 --answers "$work/closed/file"
says "weft: error: the answers cannot be kept: $work/closed/file" err
says "so here idle time is measured" out
check 2 --nonsense
check 0 --help
says "Usage: weft check" out
SIMGPU_FAULTS=launch@1=700 check 1 --answers "$work/kept"
