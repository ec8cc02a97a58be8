#!/usr/bin/env bash
# CUDA_DEVICE_MAX_CONNECTIONS=1 and a fill stream with a hardware queue of its own: that of a balanced green context where
# the machine answers that it has one, that of a higher priority on the user's wish. Then all bubbles are filled, also where
# the host goes on. Where such a stream cannot be made, or the answers were wrong, it is said, and the training goes on.
#   one_queue_streams.sh SOURCE BUILD
. "$(dirname "$0")/one_queue_training.sh"
export SIMGPU_DRIVER_VERSION=13010
no_wish="WEFT_ONE_QUEUE=above changes nothing here: streams of higher priority have no hardware queue of their own"

# The trial of the fill job asks, and is made in such a stream itself.
SIMGPU_QUEUE_GREEN_CONTEXT=own train asked event
says "of matmul, 0 of them wrong, in a hardware queue of its own (a green context)"
filled asked yes green_context

# With kept answers, and where the training waits as Megatron-LM does; the option to go before it is not needed.
SIMGPU_QUEUE_GREEN_CONTEXT=own "${simulated[@]}" "$build/bin/weft" check --answers "$work/own" >"$work/out" 2>"$work/err" ||
  fail "weft check"
export WEFT_ANSWERS=$work/own
SIMGPU_QUEUE_GREEN_CONTEXT=own WEFT_LAUNCHES=off WEFT_ONE_QUEUE=above train kept event-and-host
says "filling bubbles with matmul, in a hardware queue of its own (a green context); $reason"
filled kept yes green_context

# The answers turn out to be wrong: a slice waits until its bubble is over. Long bubbles pause filling, three short ones in
# a row end it.
WEFT_LOG=warn train wrong event
filled wrong no green_context
grep -qE "did not end within .* us: filling pauses|3 slices in a row did not end in their bubbles" "$work/err" ||
  fail "nothing is said of slices that did not get on"

# They are right, but this driver cannot make the stream: as without one.
older=$work/older/Simulated-GPU--not-hardware--driver-13000-queues-1.answers
mkdir "$work/older" && sed "s/^driver 13010/driver 13000/" "$work"/own/*-driver-13010-queues-1.answers >"$older"
export WEFT_ANSWERS=$work/older
SIMGPU_DRIVER_VERSION=13000 WEFT_LOG=warn train refused host
says_once "fill work gets no hardware queue of its own: cuDeviceGetDevResource failed with CUDA_ERROR_INVALID_RESOURCE_TYPE" 1
filled refused yes
SIMGPU_DRIVER_VERSION=13000 WEFT_LAUNCHES=off WEFT_LOG=warn train uncounted host
says "CUDA_ERROR_INVALID_RESOURCE_TYPE; with WEFT_LAUNCHES=off it is not known what is enqueued there; observing only"
filled uncounted no
sed -i "s/^host_wait passes/host_wait holds/" "$older"
SIMGPU_DRIVER_VERSION=13000 WEFT_LOG=warn train nothing_left host
says "CUDA_ERROR_INVALID_RESOURCE_TYPE; what is launched while the host waits for the GPU does not run (weft check); observing only"
filled nothing_left no

# A higher priority, on the user's wish only, and only where that helps.
unset WEFT_ANSWERS
SIMGPU_QUEUE_PRIORITY=own WEFT_ONE_QUEUE=above train above event
says "of matmul, 0 of them wrong, in a hardware queue of its own (a higher priority)"
filled above yes above
SIMGPU_QUEUE_PRIORITY=own train not_wished event
filled not_wished no
WEFT_ONE_QUEUE=above WEFT_LOG=warn train in_vain host
says_once "$no_wish" 1
filled in_vain yes
