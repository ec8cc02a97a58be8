// The rank's side of a queue (WEFT_QUEUE): asks the feeder for jobs, and says how they ended. One for each device.
//
// Threads of the main job inside the core's services, one at a time per device. All of it is shared memory: nothing
// waits, but opened() at the begin of the run, within a bound. A feeder that has died looks like one that has nothing
// to give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "detector/time.h"
#include "runner/feed/job_channel.h"
#include "runner/options/fill_plan.h"

namespace weft {

// A job that a place was given.
struct PlacedJob {
  JobPlan plan;
  std::string progress;  // the file of its progress; "": there is none
};

class QueuePlaces {
 public:
  // In the folder of the feeder. Throws std::runtime_error, one line.
  QueuePlaces(const std::string& folder, const JobChannel::Of& of);
  ~QueuePlaces();
  QueuePlaces(const QueuePlaces&) = delete;
  QueuePlaces& operator=(const QueuePlaces&) = delete;

  void offer(std::uint64_t memory) { header().memory.store(memory, std::memory_order_relaxed); }
  void offer(const BubbleLengths& bubbles);
  // A place wants a job. Does nothing where it has asked already.
  void ask(std::uint32_t place);
  // The feeder has given one since, which take() has; or it has looked, and there is none.
  bool is_answered(std::uint32_t place) const;
  std::optional<PlacedJob> take(std::uint32_t place);
  // Of a place that has a job:
  void runs(std::uint32_t place, Duration longest_slice);
  void note_units(std::uint32_t place, std::uint64_t units);
  // The feeder wants it back, and why.
  std::optional<std::string> withdrawn(std::uint32_t place) const;
  void give_back(std::uint32_t place, JobEnd end, std::uint64_t memory, const std::string& why);
  // Nothing is asked for any more.
  void close();

  // Something that the feeder says and nobody has heard yet; "": nothing.
  std::string fault();
  const std::string& path() const { return channel_.path(); }  // of the channel
  bool has_feeder() const { return header().feeder_alive.load(std::memory_order_acquire) != 0; }

 private:
  JobChannelHeader& header() const { return channel_.header(); }
  QueuePlace& place(std::uint32_t number) const { return header().place[number]; }

  JobChannel channel_;
  std::uint32_t faults_ = 0;  // that were said
};

}  // namespace weft
