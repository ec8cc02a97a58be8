#!/usr/bin/env bash
# CUDA_DEVICE_MAX_CONNECTIONS=1 and a fill job. Where the machine answers that fill work runs beside a host that waits
# for the GPU, such bubbles are filled; where it answers otherwise nothing is, and the cause is said once; where the
# answers are wrong filling ends after three slices. Losses are those of the run without Weft, bit by bit.
#   one_queue_fill.sh SOURCE BUILD
. "$(dirname "$0")/one_queue_training.sh"

# Nobody has asked before: the trial of the fill job does. As Megatron-LM waits.
train asked event-and-host
says "filling bubbles with matmul; $reason: some time may be uncertain"
filled asked yes
[ ! -e "$HOME/.cache/weft" ] || fail "a GPU that computes was asked, and the answers are kept"

# With kept answers, and where a running slice holds up what is launched behind it, and a host that waits for the GPU.
"${simulated[@]}" "$build/bin/weft" check --answers "$work/good" >"$work/out" 2>"$work/err" || fail "weft check"
export WEFT_ANSWERS=$work/good
SIMGPU_QUEUE_GRAPH=holds SIMGPU_HOST_WAIT=all train harsh host
filled harsh yes

# The host goes on.
train streams event
filled streams no
says "the host did not wait for the GPU, or had more enqueued: one hardware queue"

# The answers turn out to be wrong: a queue that is held up, or launches that stand.
SIMGPU_QUEUE_RECORD_BEHIND_WAIT=holds WEFT_LOG=warn train held event-and-host
filled held no
says "filling is off for the rest of this run: one hardware queue: 3 slices in a row did not end"
SIMGPU_HOST_WAIT_LAUNCH=holds train standing event-and-host
filled standing no
# A slice that stands for longer than 20 ms pauses filling, and the run may end before the third.
grep -qE "filling is off for the rest of this run: one hardware queue: 3 slices|filling pauses until" "$work/err" ||
  fail "stderr does not say that filling is off or pauses"
SIMGPU_QUEUE_RECORD=holds train uncertain event-and-host
filled uncertain no

# The answers forbid it.
unset WEFT_ANSWERS
SIMGPU_HOST_WAIT_LAUNCH=holds WEFT_LOG=warn train refused host
filled refused no
says_once "$reason: what is launched while the host waits for the GPU does not run (weft check); observing only" 1
SIMGPU_QUEUE_RECORD_BEHIND_WAIT=holds train no_stream host
filled no_stream yes
SIMGPU_QUEUE_RECORD_BEHIND_WAIT=holds train stream_waits event-and-host
filled stream_waits no
