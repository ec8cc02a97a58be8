// Shared memory between a rank and the feeder of its node, one channel for each fill job that reads records.
//
// The rank makes it, in the folder of the feeder, and holds a lock on it while it lives. While the job is made ready
// the rank asks and the feeder answers, one request at a time. Then slots go round: the feeder fills one with the
// inputs of some records, the rank runs a unit on it, the feeder collects the outputs. The numbers that count them only
// rise, each is written by one side, and nothing blocks: a side that dies leaves the other where it is.
//
// The rank's side is feed.h; the feeder's is feeder/served_channel.h. Nothing here waits longer than it is told.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "detector/time.h"
#include "runner/feed/channel_text.h"
#include "runner/feed/shared_file.h"
#include "runner/feed/slot_layout.h"
#include "runner/feed/tensor.h"

namespace weft {

enum class ChannelCall : std::uint32_t {
  none,
  open,
  describe_parameter,
  describe_input,
  parameter,
  records,
  input,
  output,
  begin
};

// Not all of it is needed for each call: open wants the texts; the others the tensor, or its name; records the count,
// parameter the tensor and how far it is known.
struct ChannelRequest {
  ChannelCall call = ChannelCall::none;
  std::uint32_t count = 0;   // of records in a unit
  std::uint64_t offset = 0;  // of a parameter, in bytes
  Tensor tensor{};
  ChannelText<4096> input, results, weights;  // paths, absolute; "": there is none
  ChannelText<4096> claims;                   // of records, where the job's queue keeps them
  ChannelText<4096> job;                      // path of the fill job's file
  ChannelText<1024> arguments;                // its
};

// All that the job reads and writes, as the rank has declared it before it asks to begin. A feeder that comes later
// finds it here.
struct Declared {
  static constexpr std::size_t most = 16;

  ChannelRequest opened{};
  std::uint32_t per_unit = 0;
  std::uint32_t inputs = 0, outputs = 0;  // how many
  std::uint32_t reserved = 0;
  std::array<Tensor, most> input{}, output{};
};

// `fault`: one line; "": it is as asked. A part of a parameter stands in the staging area.
struct ChannelAnswer {
  ChannelText<512> fault;
  Tensor tensor{};          // described
  std::uint64_t bytes = 0;  // of a parameter, that stand there
};

// `failed`: by the job; `broken`: by the files that it reads and writes, or their disk.
enum class FeedState : std::uint32_t { feeding, over, failed, broken };

struct ChannelHeader {
  static constexpr std::uint64_t right_magic = 0x5745465446454544;
  static constexpr std::uint32_t right_version = 1;

  std::uint64_t magic = right_magic;
  std::uint32_t version = right_version;
  std::uint32_t bytes = sizeof(ChannelHeader);
  // Set by the rank before it asks to begin. `begun`: the feeder has taken it up.
  std::uint32_t slots = 0;
  std::atomic<std::uint32_t> begun{0};
  std::uint64_t slot_bytes = 0;
  Declared declared{};
  std::atomic<std::uint32_t> closed{0};  // the rank has left

  // Of the rank, and of the feeder: each rises when the other side has something to look at. A feeder that is about to
  // sleep says so, else nobody rings.
  std::atomic<std::uint32_t> feeder_bell{0}, feeder_sleeps{0}, rank_bell{0};
  std::atomic<std::int64_t> feeder_alive{0};  // its clock, CLOCK_MONOTONIC in nanoseconds; 0: none has been there

  std::atomic<std::uint32_t> requests{0}, answers{0};
  ChannelRequest request{};
  ChannelAnswer answer{};

  // Slots that were filled, whose unit has ended, whose outputs are collected: slot n is number n modulo `slots`.
  alignas(64) std::atomic<std::uint64_t> filled{0};
  alignas(64) std::atomic<std::uint64_t> ended{0};
  alignas(64) std::atomic<std::uint64_t> collected{0};
  std::atomic<FeedState> state{FeedState::feeding};  // then `why` is set before
  ChannelText<512> why{};
};

// Of tensors that are sound.
SlotLayout layout_of(const Declared& declared);

inline constexpr std::string_view channel_ending = ".channel";

// The mapped file. Movable only in its place.
class Channel {
 public:
  static constexpr std::uint64_t staging_bytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t slots_offset = (sizeof(ChannelHeader) + 4095) / 4096 * 4096 + staging_bytes;

  // The rank's. Throws std::runtime_error, one line.
  static Channel create(const std::string& folder);
  // The feeder's. Throws std::runtime_error where it is no channel of this version.
  static Channel open(const std::string& path);
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  ChannelHeader& header() const { return *static_cast<ChannelHeader*>(file_.pages()); }
  std::byte* staging() const { return static_cast<std::byte*>(file_.pages()) + slots_offset - staging_bytes; }

  std::uint64_t room() const { return file_.room(); }  // see SharedFile
  // The rank's: room for slots, before it asks to begin, and for one more behind them that is the rank's own. Throws
  // std::runtime_error.
  void make_slots(std::uint32_t slots, std::uint64_t slot_bytes);
  // The feeder's: maps them, after a look at whether the file has them. Throws std::runtime_error.
  void take_slots(std::uint32_t slots, std::uint64_t slot_bytes);
  std::byte* slots() const { return static_cast<std::byte*>(slots_); }
  std::byte* slot(std::uint64_t number) const { return slots() + number % slot_count_ * slot_bytes_; }
  std::uint32_t slot_count() const { return slot_count_; }
  // Of the rank: the slot that the feeder never sees.
  std::byte* own_slot() const { return slots() + slot_count_ * slot_bytes_; }
  std::uint64_t mapped_bytes() const { return mapped_bytes_; }  // of all slots

  // Of the feeder: whether the process that made it still holds it.
  bool is_held() const;
  const std::string& path() const { return file_.path(); }
  void remove() const noexcept { file_.remove(); }  // its name

 private:
  explicit Channel(SharedFile file) : file_(std::move(file)) {}
  void map_slots(std::uint32_t slots, std::uint64_t slot_bytes, std::uint64_t bytes);

  SharedFile file_;
  void* slots_ = nullptr;
  std::uint32_t slot_count_ = 0;
  std::uint64_t slot_bytes_ = 0, mapped_bytes_ = 0;
};

// Rings and wakes whoever waits for the bell.
void ring(std::atomic<std::uint32_t>& bell) noexcept;
// Until the bell is no longer `heard`, or `limit` is over.
void wait_for_ring(std::atomic<std::uint32_t>& bell, std::uint32_t heard, Duration limit) noexcept;

}  // namespace weft
