// See executor.h.
#include "runner/model/executor.h"

#include <algorithm>

namespace weft::model {

FillView Executor::view() const {
  FillView view;
  // A unit begins when the one before it has ended.
  view.ready = count_ < most && (next_ != 0 || count_ == 0);
  for (const std::uint32_t slice : job_.cuts().from(next_))
    view.candidates.alone[view.candidates.count++] = job_.alone(slice);
  view.in_flight.slices = count_;
  if (count_ == 0) return view;
  view.in_flight.oldest_launched = slices_[0].launched;
  view.in_flight.oldest_alone = job_.alone(slices_[0].slice);
  view.in_flight.first_ends = slices_[0].ends;
  view.in_flight.expected_end = slices_[count_ - 1].ends;
  return view;
}

void Executor::launch(TimePoint now, std::uint64_t bubble, std::uint32_t candidate) {
  const std::uint32_t slice = job_.cuts().from(next_)[candidate];
  const TimePoint ready = now + launch_latency;
  const TimePoint begins = count_ == 0 ? ready : std::max(ready, slices_[count_ - 1].ends);
  const Duration alone = job_.alone(slice);
  const Launched launched{unit_, bubble, slice, in_unit_++, now, begins, begins + alone};
  slices_[count_++] = launched;
  not_counted_.push_back(launched);
  if (takes_gpu_) takes_gpu_(launched.begins, launched.ends);
  next_ += job_.cuts().slices()[slice].count;
  if (next_ < job_.cuts().nodes()) return;
  next_ = in_unit_ = 0;
  ++unit_;
}

void Executor::reap(TimePoint now, std::vector<SliceRecord>& finished) {
  while (count_ != 0 && slices_[0].ends <= now) {
    const Launched first = slices_[0];
    slices_[0] = slices_[1];
    --count_;
    const SliceRange& range = job_.cuts().slices()[first.slice];
    SliceRecord record;
    record.unit = first.unit;
    record.number = first.in_unit;
    record.bubble = first.bubble;
    record.launched = first.launched;
    record.finished = now;
    record.alone = job_.alone(first.slice);
    record.unit_done = range.first + range.count == job_.cuts().nodes();
    finished.push_back(record);
  }
}

Duration Executor::within(TimePoint from, TimePoint until) {
  Duration sum{};
  for (const Launched& slice : not_counted_)
    sum += std::max(std::min(slice.ends, until) - std::max(slice.begins, from), Duration{});
  std::erase_if(not_counted_, [&](const Launched& slice) { return slice.ends <= until; });
  return sum;
}

}  // namespace weft::model
