// All that a fill job reads and writes, as it declares it in init(): the tensors, where they stand in device memory,
// and which copies bring a slot of the feed there and back.
//
// Used by FillJob on the thread that makes the job ready, with the context current; throws SetUpError there. Afterwards
// the dispatcher thread uses feed() only. The slots are registered with the driver until release().
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runner/core/driver.h"
#include "runner/feed/feed.h"
#include "runner/fill/reservation.h"
#include "weft/fill.h"

namespace weft {

// One piece of a slot and where it belongs on the device.
struct SlotCopy {
  CUdeviceptr device = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint8_t value = 0;  // of one that is cleared
};

class JobFeed {
 public:
  JobFeed(Reservation& reservation, FeedPlan plan, std::string job)
      : driver_(reservation.driver()), reservation_(reservation), plan_(std::move(plan)), job_(std::move(job)) {}
  ~JobFeed() { release(); }
  JobFeed(const JobFeed&) = delete;
  JobFeed& operator=(const JobFeed&) = delete;

  // As in weft/fill.h.
  bool describe(Feed::Of of, const char* name, weft_fill_tensor* found);
  CUdeviceptr parameter(const weft_fill_tensor& tensor);
  void records(std::uint32_t per_unit, std::uint64_t* count);
  CUdeviceptr input(const weft_fill_tensor& tensor, std::uint64_t* lengths);
  CUdeviceptr output(const weft_fill_tensor& tensor, std::uint64_t* lengths);

  // After init(): makes the slots, and puts as much work as there may be in a unit where it is timed with that. Does
  // nothing for a job that reads no records; throws where files are named for it.
  void begin();
  bool has_records() const { return feed_ != nullptr && feed_->has_records(); }
  Feed& feed() { return *feed_; }
  const std::vector<SlotCopy>& copies_in() const { return in_; }
  const std::vector<SlotCopy>& copies_out() const { return out_; }
  // Before a unit, so that no result can be that of an earlier one: outputs become zero, lengths impossible.
  const std::vector<SlotCopy>& clears() const { return clears_; }
  std::byte* slot(std::uint32_t number) const { return feed_->slots().slot(number); }
  std::byte* own_slot() const { return feed_->slots().own_slot(); }  // for trial runs
  std::uint32_t slots() const { return feed_->slots().slot_count(); }
  std::uint64_t pinned() const { return registered_ ? feed_->slots().mapped_bytes() : 0; }

  // Nothing is worked on any more. Any thread.
  void close() noexcept {
    if (feed_ != nullptr) feed_->close();
  }
  void release() noexcept;  // nothing of it is in flight

 private:
  struct Declared {
    Tensor tensor;
    CUdeviceptr device = 0, lengths = 0;
  };
  Feed& opened();
  CUdeviceptr allocate(std::uint64_t bytes, bool may_leave = false);
  CUdeviceptr declare(const weft_fill_tensor& tensor, std::uint64_t* lengths, std::vector<Declared>& declared);
  void make_copies();
  void fill_own_slot();

  const Driver& driver_;
  Reservation& reservation_;
  const FeedPlan plan_;
  const std::string job_;       // its file
  std::unique_ptr<Feed> feed_;  // nullptr: the job asked for nothing
  CUdeviceptr count_ = 0;
  std::vector<Declared> inputs_, outputs_;
  std::vector<SlotCopy> in_, out_, clears_;
  bool registered_ = false;
};

}  // namespace weft
