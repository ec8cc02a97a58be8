// A driver for tests of the shim: streams are queues that stand still at a block until the test lets go. No time, no
// threads.
//
// Called by the tests (through dlsym, after they have loaded it by link) and by the fake NCCL.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/routing/vendor.h"

extern "C" {
#pragma GCC visibility push(default)
// Work on the stream that lasts until fake_release(): a kernel, or NCCL's.
void fake_block(CUstream stream);
// The first block of the stream is over; whatever can run then, runs.
void fake_release(CUstream stream);
// How many operations the main job or anybody else has put on the stream; markers count.
std::size_t fake_enqueued(CUstream stream);
// How many operations went into captures of the stream instead.
std::size_t fake_captured(CUstream stream);
// Answers of the driver from now on.
void fake_fail_allocations(int count);
void fake_during_failures(void (*happens)());  // in each allocation that fails
void fake_fail_writes(int count);
void fake_fail_waits(bool fail);  // cuStreamWaitEvent
// Contexts 0 and 1 are the primary ones of devices 0 and 1; context 2 is another one of device 0.
void fake_set_device(int device);
void fake_set_context(int context);
CUcontext fake_context(int context);
// How often a stream that does not exist (any more) was used.
int fake_dead_streams();
// From now on, and until this says false, a cuStreamQuery does not return; how many are held up so.
void fake_hold_queries(bool hold);
int fake_held_queries();
// How often a stream was asked while it captured, which ends its capture.
int fake_broken_captures();
// How often a function was entered: "cuEventRecord", ...; only some are counted.
int fake_allocations();
// How many modules and libraries were unloaded.
int fake_unloaded();
// Graphs begin with a wait for this event, and with nothing else.
void fake_set_root_wait(CUevent event);
#pragma GCC visibility pop
}
