// All that the devices of the process share. Made once when the core starts, never destroyed.
//
// Read by threads of the main job inside the core's services; each member says who may change it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runner/core/driver.h"
#include "runner/core/event_router.h"
#include "runner/core/preparations.h"
#include "runner/core/trials.h"
#include "runner/options/options.h"
#include "runner/options/variables.h"
#include "runner/sites/call_sites.h"
#include "runner/validate/validation.h"
#include "shim/seam/core_interface.h"
#include "shim/seam/marker_words.h"

namespace weft {

// Marker words of a device, from one communicator to the next. The pages are never unmapped: hooks and threads may
// look.
struct KeptWords {
  MarkerWords words;
  MarkerEvent* places = nullptr;  // of the events, where there were any
  CUcontext context = nullptr;    // that streams can mark in; nullptr: in none (any more)
};

struct CoreContext {
  CoreContext(const ShimServices& services, const Options& parsed, std::string fill_probe)
      : shim(services),
        options(parsed),
        router(*shim.ring),
        own_jobs(fill_probe.substr(0, fill_probe.rfind('/') + 1)),
        trials(std::move(fill_probe), *services.times_given_back) {}

  // Device memory has come back: an allocation of the main job that failed meanwhile is worth another try. Any thread.
  void memory_came_back() const noexcept { shim.times_given_back->fetch_add(1, std::memory_order_release); }

  ShimServices shim;
  Options options;
  Driver driver;
  EventRouter router;
  Environments environments;                 // as they were when the core started
  std::vector<std::string> option_warnings;  // to be said by whoever is rank 0
  std::atomic<int> first_device{-1};         // that a communicator was opened on
  std::mutex words_mutex;
  std::map<int, KeptWords> words;            // per device, guarded by words_mutex
  const std::string own_jobs;                // the folder of the fill jobs that come with Weft
  Trials trials;                             // of the fill job
  std::map<int, Preparations> preparations;  // per device, one thread sets up at a time
  std::mutex quiet_mutex;
  int quiet_wishes = 0;  // guarded by quiet_mutex; of fill jobs that may become ready, or have another variant, later
  // Threads whose allocation has failed, and which wait for a thread that is in the device; by its number.
  std::array<std::atomic<int>, 64> rescues{};
  std::atomic<int>& rescues_of(int device) { return rescues[static_cast<unsigned>(device) % rescues.size()]; }
  CallSiteParts call_sites;                // WEFT_CALL_SITES
  std::unique_ptr<Validation> validation;  // WEFT_VALIDATE; made when the core starts
  // A thread of the core has failed. Memory is given back first and the hooks become pass-throughs after that.
  void (*note_failure)() = nullptr;
};

}  // namespace weft
