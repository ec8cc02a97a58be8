#!/usr/bin/env bash
# The image job on the simulated GPU. Alone: a folder of images in all kinds that are read, and which folders, images and
# watermarks it refuses. Beside a training: all pictures are there at once, and right.
#   image_job.sh SOURCE BUILD alone|training
set -uo pipefail
source_dir=$1 build=$2 case=$3
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

name=$case
"$source_dir/examples/fill/images/example.py" make "$work" 18 || exit 1
if [ "$case" = training ]; then
  mkdir "$work/small"  # empty: the pictures may take its place
  SIMGPU_DEVICES=2 timeout 100 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" run \
    --output "$work/trace" --set log=info --fill "@$work/job.toml" -- "$build/bin/trainer" --launch 2 --iterations 30 --microbatches 4 \
    --hidden 32 --sequence 16 --batch 2 --text "$source_dir/LICENSE" >"$work/out" 2>&1 || fail "exit code $?"
  for ((i = 0; i < 100; ++i)); do
    [ -e "$work/small.weft/published" ] && break
    sleep 0.1
  done
  [ "$(ls "$work/small" | wc -l)" = 18 ] || fail "there are $(ls "$work/small" | wc -l) pictures of 18"
  [ -e "$work/small/00004.png" ] && [ -e "$work/small/00001.png" ] || fail "they have other names: $(ls "$work/small")"
  exec "$source_dir/examples/fill/images/example.py" check "$work"
fi
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
