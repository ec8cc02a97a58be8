// How far each rank of this machine has computed, in shared memory: for runs whose peers sleep (--peers sleep).
//
// Made by every rank on the thread that trains, rank 0 first. A sleeping rank writes its count itself; the one that
// computes has its GPU write it, through a kernel between its other work. All read; nobody waits inside.
#pragma once

#include <cstdint>

#include "process.h"

namespace trainer {

class Board {
 public:
  // Rank 0 makes the memory: before the others learn anything of it. Throws std::runtime_error.
  explicit Board(const Place& place);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Waits until all ranks have come. Then the memory has no name any more and goes away with the processes.
  void meet();

  std::uint64_t count(int rank) const;
  void set_count(std::uint64_t count);
  // The address of this rank's count for its GPU.
  unsigned long long* device_count();

  // Seconds that a forward and a backward take; 0 until the rank that computes has said so.
  struct Times {
    double forward, backward;
  };
  Times times() const;
  void set_times(const Times& times);

 private:
  struct Shared;
  Place place_;
  Shared* shared_ = nullptr;
  bool registered_ = false;
};

}  // namespace trainer
