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

  // After init(): makes the slots, and puts the first records there are where the unit reads them, so that it is timed
  // with such. Nothing is done of a job that reads none.
  void begin();
  bool has_records() const { return feed_ != nullptr && feed_->has_records(); }
  Feed& feed() { return *feed_; }
  const std::vector<SlotCopy>& copies_in() const { return in_; }
  const std::vector<SlotCopy>& copies_out() const { return out_; }
  std::byte* slot(std::uint32_t number) const { return feed_->slots().slot(number); }
  std::uint32_t slots() const { return feed_->slots().slot_count(); }
  std::uint64_t pinned() const { return registered_ ? feed_->slots().slots_bytes() : 0; }

  void release() noexcept;  // nothing of it is in flight

 private:
  struct Declared {
    Tensor tensor;
    CUdeviceptr device = 0, lengths = 0;
  };
  Feed& opened();
  CUdeviceptr allocate(std::uint64_t bytes);
  CUdeviceptr declare(const weft_fill_tensor& tensor, std::uint64_t* lengths, std::vector<Declared>& declared);
  void make_copies();
  void prime();

  const Driver& driver_;
  Reservation& reservation_;
  const FeedPlan plan_;
  const std::string job_;       // its file
  std::unique_ptr<Feed> feed_;  // nullptr: the job asked for nothing
  CUdeviceptr count_ = 0;
  std::vector<Declared> inputs_, outputs_;
  std::vector<SlotCopy> in_, out_;
  bool registered_ = false;
};

}  // namespace weft
