#!/usr/bin/env bash
# The fill job that trains a network, on its example. Its losses are the same bits whatever happens: as without Weft,
# in units and slices of any length, after a kill and a restart, with another number of ranks, from rank to rank of a
# queue. And data that nothing can be trained on is refused, in one line.
#   train_job.sh SOURCE BUILD ALONE CASE     ALONE: the program train_alone
#                                            CASE: try, refused, whole, broken, ranks, killed, queue
set -uo pipefail
source_dir=$1 build=$2 alone=$3 case=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
. tests/e2e/with_feeder.sh
# That of this build: it is not this test that looks at what is left in shared memory.
feeder_has_ended() {
  for ((i = 0; i < 200; ++i)); do
    pgrep -f "^$build/lib/weft/weft-feeder" >/dev/null || return 0
    sleep 0.1
  done
  fail "the feeder has not ended"
}
example() { "$source_dir/examples/fill/train/example.py" "$@"; }
example make "$work" || fail "there is no example"
cat >"$work/make.py" <<PYTHON
import sys
sys.path.insert(0, "$source_dir/examples/fill")
import files
from files import numpy
data = files.read_safetensors("$work/data.safetensors")
images, labels = data["images"], data["labels"]
files.write_safetensors("$work/other.safetensors", eval(sys.argv[1]))
PYTHON
cat >"$work/look.py" <<PYTHON
import sys
sys.path.insert(0, "$source_dir/examples/fill")
import files
weights = files.read_safetensors("$work/weights.safetensors")
assert weights["blocks.0.conv1.weight"].shape == (3, 3, 8, 8) and len(weights) == 9, weights.keys()
PYTHON
cat >"$work/change.py" <<PYTHON
import glob, json, struct, sys
for path in glob.glob("$work/progress/*.progress"):
    content = bytearray(open(path, "rb").read())
    begin = content.index(b"\\n") + 1
    size = struct.unpack("<Q", content[begin:begin + 8])[0]
    body = begin + 8 + size
    first, last = json.loads(content[begin + 8:body])[sys.argv[1]]["data_offsets"]
    content[body + first:body + last] = struct.pack("<f", float(sys.argv[2])) * ((last - first) // 4)
    open(path, "wb").write(content)
PYTHON
make_other() { python3 "$work/make.py" "$1" || fail "no data is made"; }  # tensors, in Python
try() { timeout 60 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" try "$@" >"$work/try.messages" 2>&1; }
says() { grep -qF -- "$1" "$work/try.messages" || fail "it does not say: $1"; }
refused() {  # why, arguments, tensors
  make_other "$3"
  try "train$2" --weights "$work/other.safetensors" && fail "it is not refused: $1"
  says "$1"
}
# The losses of every file of progress are the first ones of the training without Weft, and it has so many or more.
export WEFT_CHECKPOINT=$work/progress
losses_are_right() {  # files at least, losses of each at least
  local file count files=0
  for file in "$WEFT_CHECKPOINT"/*.progress; do
    example losses "$file" | cut -c 1-8 >"$work/losses" || fail "$file cannot be read"
    count=$(wc -l <"$work/losses")
    "$alone" "$work/data.safetensors" 600 12 "$count" >"$work/alone" || fail "there is nothing to compare with"
    cmp "$work/losses" "$work/alone" || fail "the losses of $file are not those of a training without Weft"
    [ "$count" -ge "$2" ] || fail "$file has $count losses, not $2"
    files=$((files + 1))
  done
  [ "$files" -ge "$1" ] || fail "$files files of progress, not $1"
}
steps_of() { if [ -e "$1" ]; then example losses "$1" | wc -l; else echo 0; fi; }
# Trains, and kills all of it, without any warning, within a second after that file has been written anew.
train_and_kill() {  # name, file, options of weft run...
  # shellcheck disable=SC2046
  TMPDIR=$work setsid timeout 150 scripts/on-simulated-gpu --build "$build" \
    "$build/bin/weft" run --output "$work/$1.trace" "${@:3}" -- $(trainer 2000) >"$work/$1.log" 2>"$work/$1.messages" &
  local group=$!
  touch "$work/begin"
  for ((i = 0; i < 1200; ++i)); do
    [ "$2" -nt "$work/begin" ] && break
    sleep 0.05
  done
  sleep "0.$((RANDOM % 10))"
  kill -KILL -- "-$group" || fail "the training has ended by itself"
  wait $group 2>/dev/null
  feeder_has_ended
}
fill=(--fill train --weights "$work/data.safetensors")

case $case in
  try)
    try train --weights "$work/data.safetensors" --units 20 || fail "a sound job is refused"
    says 'job       train, keeps its progress'
    says '20 run, 20 right, 0 wrong'
    says 'confined  by its own small grids'
    # The same with labels of the other type, images of three channels, and other arguments.
    make_other '{"images": numpy.repeat(images, 3, 3)[:, :11], "labels": labels.astype("<i4")}'
    try train:channels=5,blocks=3,batch=3,steps=2,rate=50,momentum=0,seed=9 --weights "$work/other.safetensors" ||
      fail "a sound job is refused"
    says '3 run, 3 right, 0 wrong'
    ;;
  refused)
    try train && fail "no weights are no mistake"
    says 'no file is named'
    try train:channels=0 --weights "$work/data.safetensors" && fail "a wrong argument is none"
    says 'channels takes a whole number from 1 to 512'
    try train --weights "$work/job.toml" && fail "any file is one of weights"
    says 'is no file of weights'
    refused "the weights have no tensor 'images'" "" '{"labels": labels}'
    refused "the weights have no tensor 'labels'" "" '{"images": images}'
    refused "tensor 'images' is not of 4 dimensions of uint8" "" '{"images": images[:, :, :, 0], "labels": labels}'
    refused "tensor 'images' is not of 4 dimensions of uint8" "" '{"images": images.astype("<f4"), "labels": labels}'
    refused "for 'labels', and the job takes" "" '{"images": images, "labels": labels[:599]}'
    refused "for 'labels', and the job takes" "" '{"images": images, "labels": labels.astype("<i8")}'
    refused 'image 7 has the label -1; 0 to 1023 are possible' "" \
      '{"images": images, "labels": numpy.where(numpy.arange(600) == 7, -1, labels).astype("<i4")}'
    refused 'image 599 has the label 1024; 0 to 1023 are possible' "" \
      '{"images": images, "labels": numpy.where(numpy.arange(600) == 599, 1024, labels).astype("<i4")}'
    refused 'all images have the label 0' "" '{"images": images, "labels": labels * 0}'
    refused 'the images are of 600x12x2x1: at least one is wanted' "" '{"images": images[:, :, :2], "labels": labels}'
    refused 'a batch of 4096 such images is too large' ":channels=512,batch=4096" '{"images": images, "labels": labels}'
    refused 'a network of 64 blocks of 512 channels is too large' ":channels=512,blocks=64" \
      '{"images": images, "labels": labels}'
    try train:channels=256,batch=64 --weights "$work/data.safetensors" --memory 1MiB && fail "it fits in a MiB"
    says 'WEFT_MEMORY'
    ;;
  whole)  # beside the training, whose losses do not change either
    without_weft 20
    train whole 20 "${fill[@]}" || fail "exit code $?"
    same_losses whole
    losses_are_right 4 5
    example check "$work" || fail "the check of the example does not agree"
    example weights "$work/progress/rank0.progress" "$work/weights.safetensors" ||
      fail "the weights cannot be taken out"
    python3 "$work/look.py" || fail "the weights are not there"
    ;;
  broken)  # progress that is not this training's, or cannot be gone on with, ends the job and stays as it is
    train begun 4 "${fill[@]}" || fail "exit code $?"
    losses_are_right 4 1
    without_weft 4
    ends() {  # name, why, options of weft run...
      local before
      before=$(cat "$WEFT_CHECKPOINT"/*.progress | cksum)
      train "$1" 4 "${@:3}" || fail "exit code $?"
      same_losses "$1"
      grep -qF -- "$2" "$work/$1.messages" || fail "it does not say: $2"
      [ "$(cat "$WEFT_CHECKPOINT"/*.progress | cksum)" = "$before" ] || fail "the progress was written over"
    }
    ends other 'the saved progress is of another training: channels=8,blocks=1,' \
      --fill train:seed=2 --weights "$work/data.safetensors"
    example check "$work" || fail "the check of the example does not agree"
    cp -r "$WEFT_CHECKPOINT" "$work/sound"
    python3 "$work/change.py" stem.weight 3e38 || fail "the progress cannot be changed"
    ends stem 'is not finite; a smaller rate may help' "${fill[@]}"
    cp "$work/sound"/*.progress "$WEFT_CHECKPOINT"
    python3 "$work/change.py" head.weight 3e38 || fail "the progress cannot be changed"
    example check "$work" && fail "the check of the example finds nothing wrong with other weights"
    ends huge 'is not finite; a smaller rate may help' "${fill[@]}"
    python3 "$work/change.py" stem.norm.bias nan || fail "the progress cannot be changed"
    ends nan 'the saved progress has numbers that are not finite' "${fill[@]}"
    ;;
  ranks)  # one after the other, with units and slices of other lengths
    ranks=4 train four 20 "${fill[@]}" || fail "exit code $?"
    losses_are_right 4 5
    first=$(steps_of "$work/progress/rank1.progress")
    ranks=2 train two 20 --fill train:steps=3,parts=5 --weights "$work/data.safetensors" --slice 60us ||
      fail "exit code $?"
    losses_are_right 4 5
    second=$(steps_of "$work/progress/rank1.progress")
    [ "$second" -gt "$first" ] || fail "the second training did not go on"
    ranks=3 train three 20 --fill train:steps=2 --weights "$work/data.safetensors" --slice 2ms || fail "exit code $?"
    losses_are_right 4 5
    [ "$(steps_of "$work/progress/rank1.progress")" -gt "$second" ] || fail "the third training did not go on"
    ;;
  killed)
    RANDOM=1 before=0
    for round in 1 2 3 4; do
      ranks=$((2 + RANDOM % 3))
      train_and_kill "killed$round" "$work/progress/rank0.progress" "${fill[@]}" --set checkpoint_every=1s
      losses_are_right 2 10
      now=$(steps_of "$work/progress/rank0.progress")
      echo "after kill $round rank 0 has $now steps"
      [ "$now" -gt "$before" ] || fail "training $round did not go on from $before steps"
      before=$now
    done
    ranks=4
    train rest 20 "${fill[@]}" || fail "exit code $?"
    losses_are_right 4 10
    [ "$(steps_of "$work/progress/rank0.progress")" -gt "$before" ] || fail "the last training did not go on"
    ;;
  queue)  # two jobs, each on one rank at a time, in trainings of which the first ones are killed
    export WEFT_QUEUE=$work/queue WEFT_SLOWDOWN_BUDGET=off
    jobs() { "$build/bin/weft" jobs "$@" 2>>"$work/jobs.messages"; }
    value() { jobs show "$1" --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$2'])"; }
    are_done() { [ "$(value 1 state) $(value 2 state)" = 'done done' ]; }
    submit() { jobs submit "$@" --weights "$work/data.safetensors" --memory 64MiB >/dev/null; }
    submit train --units 700 || fail "it cannot be submitted"
    submit train:steps=2 --units 200 || fail "it cannot be submitted"
    for job in 1 2; do train_and_kill "killed$job" "$work/queue/jobs/$job/progress" --set checkpoint_every=1s; done
    echo "after the kills $(value 1 done) and $(value 2 done) units are done"
    for ((round = 1; round <= 6; ++round)); do
      are_done || train "rest$round" 60 || fail "exit code $?"
    done
    are_done || fail "the jobs are $(value 1 state) and $(value 2 state)"
    for job in 1 2; do
      mkdir "$work/of$job"
      cp "$work/queue/jobs/$job/progress" "$work/of$job/$job.progress"
      WEFT_CHECKPOINT=$work/of$job losses_are_right 1 400
    done
    # The count of units follows the state, so a kill between the two has some units done beyond it.
    for job in 1 2; do
      steps=$(steps_of "$work/of$job/$job.progress")
      echo "job $job has $steps steps"
      [ "$steps" -ge $((job == 1 ? 700 : 400)) ] || fail "job $job is over after $steps steps"
    done
    ;;
  *) fail "there is no such case" ;;
esac
feeder_has_ended
