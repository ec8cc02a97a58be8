// A main job on the simulated GPU, and the shim in front of the core, played by a test: real streams, a real spinning
// kernel, markers written by the streams, events pushed by hand.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runner/core/driver.h"
#include "shim/seam/core_interface.h"
#include "shim/seam/ring.h"
#include "simgpu/kernels.h"

namespace weft::testing {

using Variables = std::map<std::string, std::string>;

class SimulatedJob {
 public:
  // `variables` are set before anything is loaded; WEFT_OUTPUT, SIMGPU_LOG and XDG_RUNTIME_DIR are set to folders of
  // this test.
  explicit SimulatedJob(const Variables& variables);
  ~SimulatedJob();

  // Loads the core and opens communicator 1 on device 0, as rank 0 of 2. Returns the stderr of that time.
  std::string open();
  // Loss-free training step: compute, then a receive that ends `wait` after compute has got to it. The third microbatch
  // of an iteration is an all-reduce.
  void microbatch(std::chrono::microseconds wait);
  // Groups that are issued now stay open until end_group().
  void begin_group();
  void end_group();
  void announce_group();  // what a hook notes before the real call, which has yet to launch it
  void launch_announced_group();
  void use_context();         // on this thread
  void begin_unseen_group();  // as in a replayed graph: nobody says so, no marker tells of its end; end_group() ends it
  void wait_for_gpu();
  // Streams and memory of the driver are gone; the context may be used again.
  void reset_device();
  bool is_registered(void* host);
  std::string close();  // communicator 1; what was written to stderr

  CoreServices core{};
  std::atomic<bool> is_started{false};  // `core` can be used by any thread
  // Real functions, by exact name; those in `replaced` go to the core instead of the driver's.
  template <class Function>
  Function function(const char* name) {
    return reinterpret_cast<Function>(find(name));
  }
  static std::map<std::string, void*> replaced;
  static std::atomic<std::uint32_t> streams_in_use;  // as the shim says
  static std::atomic<int> times_reserved;            // that the core has told the shim of
  static std::atomic<std::uint32_t> times_given_back;
  static MarkerWords words();  // as the core handed them over last
  bool turned_off = false;
  std::atomic<bool> quiet_moments_wanted{false};

  // All records of rank 0's file; `device`: what stands before the end of its name.
  std::vector<nlohmann::json> trace(const std::string& device = "") const;
  std::vector<nlohmann::json> log(const std::string& thread) const;  // the simulator's, of threads that start so
  std::size_t processes() const;                                     // that have used the simulated GPU, in all

 private:
  static void* find(const char* name);
  void load_driver();
  void launch_group();
  bool is_idle();
  void enqueue_marker(CUstream stream, Ticket ticket);
  Event event(EventKind kind, StreamId stream) const;

  std::string folder_;
  CUcontext context_ = nullptr;
  CUstream compute_ = nullptr, communication_ = nullptr;
  CUevent done_ = nullptr;
  CUfunction compute_kernel_ = nullptr, spin_kernel_ = nullptr;
  const simgpu_services* services_ = nullptr;
  std::unique_ptr<EventRing> ring_ = std::make_unique<EventRing>();
  ShimServices shim_{};
  Ticket last_ticket_ = 0;
  std::deque<Ticket> announced_;  // of groups that are yet to be launched, what is written at their end
  GroupId last_group_ = 0;
};

// A fill job for WEFT_FILL: the one that copies, with its arguments.
std::string copy_job(const std::string& arguments);

void train(SimulatedJob& job, int microbatches = 36, std::chrono::microseconds wait = std::chrono::milliseconds(6));
std::size_t free_memory(SimulatedJob& job);  // of the current device

// Of a trace: the first record of the type, and how many there are.
nlohmann::json record_of(const std::vector<nlohmann::json>& records, const std::string& type);
std::size_t count_of(const std::vector<nlohmann::json>& records, const std::string& type);

// For a rescue that no longer waits: the group has ended, the markers behind it have yet to be seen.
bool rescued_soon(SimulatedJob& job);

// Until the trials are over and their verdicts have been used, or are never going to be. False: some was not used.
bool no_quiet_moment_is_wanted(SimulatedJob& job, std::chrono::seconds limit);

}  // namespace weft::testing
