// Shared memory between a rank and the feeder of its node, for jobs of a queue: the rank says what it offers and asks,
// the feeder gives it jobs and takes them back.
//
// One for each device of a rank that has a queue (WEFT_QUEUE). A place holds one job at a time: the rank asks, the
// feeder gives, the rank returns it and may ask again. The numbers only rise, each is written by one side, and nothing
// blocks: a side that dies leaves the other where it is. A feeder that comes later finds in it what was given.
//
// The rank's side is runner/feed/queue_places.h; the feeder's is feeder/queue/desk.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "runner/feed/channel_text.h"
#include "runner/feed/shared_file.h"
#include "runner/options/fill_plan.h"
#include "runner/policy/bubble_lengths.h"
#include "runner/policy/jobs.h"
#include "runner/policy/variants.h"

namespace weft {

// A job as the feeder gives it. Paths are absolute; "": there is none.
struct GivenJob {
  ChannelText<32> id;    // in the queue
  ChannelText<64> name;  // in the trace
  ChannelText<8192> spec;
  ChannelText<4096> input, results, weights;
  ChannelText<4096> progress;  // the file of its progress
  ChannelText<4096> claims;    // where those of its records are kept
  JobFileStamp stamp{};        // of the file in `spec`
  std::uint64_t memory = 0;    // 0: what the place has
  JobTerms terms{};            // units: those that are left
  std::uint32_t variants = 0;
  std::array<ChannelText<64>, most_variants> variant{};
};

// How it ended on this rank. `withdrawn`: because the feeder wanted it back; `left`: the rank is finished, or fills
// nothing any more.
enum class JobEnd : std::uint32_t { over, fault, passing_fault, lacks_memory, no_room, withdrawn, left };

struct QueuePlace {
  std::atomic<std::uint32_t> asked{0}, given{0}, returned{0};
  std::atomic<std::uint32_t> looked{0};     // of the feeder: as `asked` was, when it had nothing to give
  std::atomic<std::uint32_t> withdrawn{0};  // of the feeder: it wants the job of this number back
  std::atomic<std::uint32_t> runs{0};       // of the rank: the job of this number is ready
  std::atomic<std::uint64_t> units{0};      // likewise: units of it that are done for good
  std::atomic<std::int64_t> slice{0};       // and its longest slice, in nanoseconds
  GivenJob job{};
  ChannelText<256> why_withdrawn{};
  JobEnd end = JobEnd::left;  // of the job of `returned`
  std::uint64_t memory = 0;   // likewise, that it had
  ChannelText<512> why{};
};

struct JobChannelHeader {
  static constexpr std::uint64_t right_magic = 0x574546544a4f4253;
  static constexpr std::uint32_t right_version = 1;
  static constexpr std::size_t most_places = most_jobs;

  std::uint64_t magic = right_magic;
  std::uint32_t version = right_version;
  std::uint32_t bytes = sizeof(JobChannelHeader);
  std::int32_t rank = 0, device = 0;
  std::uint32_t places = 0;
  std::uint32_t policy = 0;  // a JobPolicy
  ChannelText<4096> queue{};
  std::atomic<std::uint32_t> closed{0};       // the rank has left
  std::atomic<std::int64_t> feeder_alive{0};  // its clock, CLOCK_MONOTONIC in nanoseconds; 0: none has been there
  // Why the feeder gives nothing: set before `faults` rises.
  ChannelText<512> fault{};
  std::atomic<std::uint32_t> faults{0};
  // Of the rank: its offer.
  std::atomic<std::uint64_t> memory{0};
  std::array<std::atomic<std::uint64_t>, BubbleLengths::steps> idle{};
  std::array<QueuePlace, most_places> place{};
};

inline constexpr std::string_view job_channel_ending = ".jobs";

// The mapped file. Movable only in its place.
class JobChannel {
 public:
  // The rank's. Throws std::runtime_error, one line.
  struct Of {
    std::int32_t rank = 0, device = 0;
    std::uint32_t places = 1;
    JobPolicy policy = JobPolicy::throughput;
    std::string queue;
  };
  static JobChannel create(const std::string& folder, const Of& of);
  // The feeder's. Throws std::runtime_error where it is no channel of this version.
  static JobChannel open(const std::string& path);

  JobChannelHeader& header() const { return *static_cast<JobChannelHeader*>(file_.pages()); }
  // Of the feeder: whether the process that made it still holds it.
  bool is_held() const;
  const std::string& path() const { return file_.path(); }
  void remove() const noexcept { file_.remove(); }  // its name

 private:
  explicit JobChannel(SharedFile file) : file_(std::move(file)) {}
  SharedFile file_;
};

}  // namespace weft
