// A core for tests of the shim: stands in for libweft-core.so, keeps what it is told, and hands it to the test on
// request.
//
// The shim loads it; a test in the same process asks it for the functions below.
#pragma once

#include "shim/seam/core_interface.h"

struct TestCore {
  const weft::ShimServices* shim;
  std::atomic<int> opened;  // calls of communicator_opened, ...
  int closed;
  int rescues;
  int last_rescued;       // device
  int looks;              // calls of memory_taken
  int last_looked_at;     // device
  std::uint64_t allowed;  // what they answer
  int contexts_closed;
  int quiet_moments;
  bool rescue_answer;
  bool given_back_by_another_thread;  // during the rescue, which finds nothing more to give
  bool cancellable;  // a call could be cut short by pthread_cancel
  bool alone;        // an opening waited in vain for TEST_CORE_MEETS of them to be under way
  weft::CommunicatorInfo last_opened;
  weft::CommunicatorId last_closed;
  std::uint32_t word_count;
  std::atomic<std::uint32_t>* words[2];  // of devices 0 and 1
  weft::MarkerEvent* events;             // with TEST_CORE_MARKS_BY_EVENTS
};

extern "C" {
#pragma GCC visibility push(default)
TestCore* test_core();
bool test_core_pop(weft::Event* event);
#pragma GCC visibility pop
}
