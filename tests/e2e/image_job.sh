#!/usr/bin/env bash
# The image job alone on the simulated GPU: a folder of images in all kinds that are read, and what it says of folders,
# images and watermarks that it cannot take.
#   image_job.sh SOURCE BUILD
set -uo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=1 XDG_RUNTIME_DIR=$work
fail() { echo "$name: $1"; cat "$work/out"; exit 1; }
try() {  # name, exit code, arguments of the job, folder
  name=$1
  timeout 100 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" try "images$3" --units 9 \
    --weights "$work/watermark.npy" --input "$4" >"$work/out" 2>&1
  local code=$?
  [ $code -eq "$2" ] || fail "exit code $code, not $2"
}
says() { grep -q -- "$1" "$work/out" || fail "it does not say: $1"; }

"$source_dir/examples/fill/images/example.py" make "$work" 18 || exit 1
try sound 0 :width=56,height=48,parts=3 "$work/photos"
says '^units     9 run, 9 right, 0 wrong, 0 not checked'
try large_mark 3 :width=8,height=8 "$work/photos"
says 'the watermark of 20 x 20 pixels does not fit into results of 8 x 8'
try no_folder 1 "" "$work/nowhere"
says 'the input .*/nowhere: no such file'
mkdir "$work/empty"
try empty 3 "" "$work/empty"
says '/empty: is a folder without an image (.png, .jpg, .jpeg)'
# Broken behind its header: the job goes on. In its header: it does not begin.
head -c 120 "$work/photos/00004.png" >"$work/short" && mv "$work/short" "$work/photos/00004.png"
try broken_data 0 "" "$work/photos"
says '^units     9 run, 9 right, 0 wrong, 0 not checked'
echo 'no image' >"$work/photos/00005.png"
try no_image 3 "" "$work/photos"
says '/photos/00005.png: is neither a PNG nor a JPEG image'
