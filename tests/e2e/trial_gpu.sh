#!/usr/bin/env bash
# The trial of a fill job refuses a GPU that is not the training's: with changed variables its number is another one.
#   trial_gpu.sh SOURCE BUILD FILL
set -euo pipefail
source_dir=$1 build=$2 fill=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=2
# The simulator's id of a device: "simulated-gpu-", a zero and the device's number.
own=$(printf 'simulated-gpu-\0\0' | od -An -v -tx1 | tr -d ' \n')
other=$(printf 'simulated-gpu-\0\1' | od -An -v -tx1 | tr -d ' \n')
trial() {  # the id of the GPU that the training has
  timeout 100 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/lib/weft/weft-fill-probe" \
    device=0 "uuid=$1" "path=$fill" arguments= input= results= weights= memory=67108864 max_blocks=8 reserved=8 \
    slice_cap=300000 limit=60 units=0 confine=auto stream=plain one_queue= 3>"$work/transcript" && code=0 || code=$?
  cat "$work/transcript"
}
trial "$own"
[ "$code" = 0 ] && [ "$(tail -n 1 "$work/transcript")" = ok ]
trial "$other"
[ "$code" = 1 ]
[ "$(cat "$work/transcript")" = "failed fill job $fill: device 0 is another GPU in its trial process: \
CUDA_VISIBLE_DEVICES or CUDA_DEVICE_ORDER was changed after CUDA had started" ]
