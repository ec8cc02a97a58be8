// A device as the process and the job have it, found out when its first communicator is opened: a value that does not
// change until the last one is closed.
//
// On a thread of the main job inside the core's services, at a quiet time.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

#include "runner/core/core_context.h"
#include "runner/fill/queues.h"

namespace weft {

struct DeviceSetup {
  int ordinal = 0;
  CUcontext context = nullptr;  // the one that the main job uses
  std::int32_t rank = 0, ranks = 0;
  std::uint32_t multiprocessors = 0;
  bool is_further_device = false;  // another one of the process was there first
  Marking marking{};
  std::string answers_fault;  // why kept answers of weft check are not used; "": they are, or there are none
  MarkerWords words{};        // that markers are written into

  // Takes what the machine has said in the trial of the fill job, see letters_of(), where it had to be asked.
  void take_answers(const std::string& letters, OneQueue wish);
  bool is_unmarked() const { return marking.marks == Marks::none; }
};

// The device's context goes, and with it what let streams mark. Any thread.
void forget_words(CoreContext& core, int ordinal);

// Throws SetUpError when not even observing is possible.
DeviceSetup set_up_device(CoreContext& core, int ordinal, const CommunicatorInfo& first);

}  // namespace weft
