// The communicators of a world's ranks: one for each two stages that send each other messages, of the two ranks that
// have them (with batched calls one for a whole pipeline); one for the sums of each stage; one of all ranks.
//
// Used by the replicas, whose groups name them, and by whoever writes them into traces. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "detector/event.h"
#include "sim/pipeline/host_program.h"

namespace weft::pipeline {

struct Membership {
  CommunicatorId communicator = 0;  // its number on this rank
  std::uint64_t id = 0;             // equal on all of its ranks, and there alone
  int rank = 0, ranks = 0;          // in it
};

// Of the rank with this number, in the order of their numbers on it.
std::vector<Membership> communicators_of(const Programs& programs, int replicas, int rank);

// Of a step that posts something.
CommunicatorId communicator_of(const Programs& programs, const Step& step);
// The number of the other end in the communicator of a message; `place`: of this end. -1: there is none.
int peer_of(const Programs& programs, const Message& message, int place);

}  // namespace weft::pipeline
