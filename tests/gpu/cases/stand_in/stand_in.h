// A stand-in for libnccl.so.2 in one process: its peers are imagined, so how long a receive is blocked is known
// exactly.
//
// Each group of operations is one kernel on the group's stream, shaped like NCCL's (640 threads, many registers,
// clusters of 4). With a receive in it the kernel spins for the length that the test has set, or until the communicator
// is aborted, writes down when it began and ended by the GPU's own clock, and fills the receive buffers with numbers
// that depend on nothing but the number of the receive. Sends vanish; collectives give back their input. Used by
// bubble_case.cpp and the other programs of this folder, from any one thread. It knows nothing of Weft.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Nanoseconds of the GPU's clock (%globaltimer), of one group with a receive. 0: not there yet.
typedef struct stand_in_record {
  int64_t started;
  int64_t ended;
} stand_in_record;

// Groups with a receive that are issued from here on spin for this long.
void stand_in_next_receive(int64_t nanoseconds);

// The records of all groups with a receive so far, in order of issue, and how many. Valid until the process ends.
size_t stand_in_records(const stand_in_record** records);

#ifdef __cplusplus
}
#endif
