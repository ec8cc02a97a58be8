// The records of one fill job, as the process that runs the job sees them: inputs come in slots of shared memory,
// outputs go back in them. All files are the feeder's business.
//
// Made and asked on the thread that makes the job ready, inside its init(); throws SetUpError there. Then the
// dispatcher thread takes slots: that part reads and writes memory and, where the feeder sleeps, rings its bell;
// nothing of it waits, allocates or fails. A feeder that has died looks like one that has nothing to do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "detector/time.h"
#include "runner/feed/channel.h"
#include "runner/feed/slot_layout.h"
#include "runner/feed/tensor.h"

namespace weft {

// The files that the user wants the job to read and write.
struct FeedPlan {
  std::string folder;                   // of the feeder; "": there is none
  std::string input, results, weights;  // paths, absolute; "": there is none
  std::string arguments;                // of the job, that its results are of
  // Set when nobody waits for the job any more: nothing is asked then. nullptr: nobody sets it.
  const std::atomic<bool>* given_up = nullptr;
  // Of a trial, where the feeder is in this process: is told of the channel, by its path.
  std::function<void(const std::string& channel)> serve_here{};
  std::string claims{};  // of records, where the job's queue keeps them
};

// Of weft_fill_records, for one unit.
struct FilledSlot {
  std::uint32_t count = 0;
  const std::uint64_t* numbers = nullptr;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<const std::uint32_t*> input_lengths, output_lengths;
};

class Feed {
 public:
  // `job`: its file, which results are kept apart by.
  Feed(const FeedPlan& plan, const std::string& job);
  ~Feed();  // the feeder takes back what was not done
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  enum class Of : std::uint8_t { weights, input };
  // By its name; nothing: there is none of that name.
  std::optional<Tensor> describe(Of of, std::string_view name);
  // In parts, in order. The file must have this type and shape.
  using TakePart = std::function<void(std::uint64_t offset, std::span<const std::byte> part)>;
  void read_parameter(const Tensor& wanted, const TakePart& take);
  // Once, before inputs and outputs.
  void set_records(std::uint32_t per_unit);
  void add_input(const Tensor& tensor);
  void add_output(const Tensor& tensor);
  std::uint32_t per_unit() const { return declared_.per_unit; }
  bool has_records() const { return declared_.per_unit != 0; }

  // Everything is declared: makes the slots, of so many bytes at most. Throws also when there is nothing left to do.
  // Then:
  void begin(std::uint64_t most_bytes);
  const SlotLayout& layout() const { return layout_; }
  const Channel& slots() const { return *channel_; }
  // The feeder fills the first one meanwhile. False: it has not, or there is nothing left to do.
  bool has_filled_one_within(Duration limit) const noexcept;

  // The dispatcher thread. A slot is ready for the next unit.
  bool has_next() const noexcept;
  // Nothing comes any more, and nothing that was filled is left. why(): in half a sentence; `failed`: it is a fault.
  bool is_over() const noexcept;
  bool has_failed() const noexcept;
  bool is_broken() const noexcept;  // and not by the job: files cannot be used for now
  std::string why() const;
  // That slot, for a unit; its number, modulo slot_count().
  std::uint32_t next() const noexcept;
  const FilledSlot& slot(std::uint32_t number) const { return filled_[number]; }
  std::uint32_t records_in(std::uint32_t number) const noexcept;
  // `accepted`: its results are to be written; else its records are to be done again.
  void unit_ended(bool accepted) noexcept;
  // Nothing is taken any more, and what was filled and not done goes back. Any thread; once, or again.
  void close() noexcept;
  // When the feeder was there last; nothing: never.
  std::optional<TimePoint> seen_feeder() const noexcept;

 private:
  ChannelAnswer ask(const ChannelRequest& request);
  void add(ChannelCall call, const Tensor& tensor, std::uint32_t& count, std::array<Tensor, Declared::most>& all);
  void wait_for_answer();
  void check_answer(const ChannelAnswer& answer) const;

  std::unique_ptr<Channel> channel_;
  std::string label_;
  const std::atomic<bool>* const given_up_;
  const Duration longest_answer_;
  Declared declared_{};
  SlotLayout layout_;
  std::vector<FilledSlot> filled_;  // of each slot; counts are those of the present content
};

// How many slots there are of so many bytes, with the rank's own in no more than `most_bytes`: enough that a bubble
// does not wait for the feeder. At least two, which may be more.
std::uint32_t slots_for(std::uint64_t slot_bytes, std::uint64_t most_bytes);

}  // namespace weft
