// Which one an operation is: of the sends from this rank to a peer, of the receives from it, of a communicator's
// collectives. NCCL pairs them in this order, so the k-th send from A to B is the k-th receive at B from A.
//
// Hooks of NCCL only: a table of fixed size, no lock. A communicator is used by one thread at a time; that is NCCL's
// rule. Where one was missed, refused or captured (a graph may run it any number of times), all later ones of that
// communicator are without a number: a wrong number would pair what does not belong together.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"

namespace weft {

// Of one communicator. Zeroed memory has counted nothing.
struct Sequences {
  std::atomic<std::uint64_t> collectives;
  std::atomic<bool> lost;
};

// Whether operations are noted at all; the core says so. Any thread.
extern std::atomic<bool> operations_are_noted;
void set_operations_noted(bool noted) noexcept;

// The next one's number; 0: not known. One-sided operations have none.
std::uint64_t next_in_sequence(Sequences& sequences, CommunicatorId communicator, Operation kind, int peer) noexcept;

inline void lose_sequences(Sequences& sequences) noexcept {
  sequences.lost.store(true, std::memory_order_relaxed);
}

// The communicator has no more operations.
void forget_sequences(Sequences& sequences, CommunicatorId communicator) noexcept;

}  // namespace weft
