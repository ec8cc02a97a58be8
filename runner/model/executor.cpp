// See executor.h.
#include "runner/model/executor.h"

#include <algorithm>
#include <utility>

namespace weft::model {

Executor::Executor(const std::deque<Job>& jobs, JobPolicy policy, SliceGpu gpu)
    : jobs_(jobs), gpu_(std::move(gpu)), offers_(policy) {
  arrive(TimePoint{});
}

bool Executor::arrive(TimePoint now) {
  const std::size_t before = arrived_;
  for (; arrived_ < jobs_.size() && jobs_[arrived_].arrives() <= now; ++arrived_)
    offers_.add(jobs_[arrived_].cuts(), jobs_[arrived_].alone(), jobs_[arrived_].terms());
  return arrived_ != before;
}

FillView Executor::offer(std::size_t number) const {
  FillView made = view();
  made.ready = true;
  made.candidates = offers_.candidates(number);
  return made;
}

FillView Executor::view() const {
  FillView view;
  view.in_flight.slices = count_;
  if (count_ == 0) return view;
  view.in_flight.oldest_launched = slices_[0].launched;
  view.in_flight.oldest_alone = offers_.alone(slices_[0].choice);
  view.in_flight.first_ends = slices_[0].ends;
  view.in_flight.expected_end = slices_[count_ - 1].ends;
  return view;
}

void Executor::launch(TimePoint now, std::uint64_t bubble, const Choice& choice) {
  const TimePoint ready = now + launch_latency;
  if (!began_[choice.job]) began_[choice.job] = now;
  if (gpu_.share) {
    slices_[count_++] = {offers_.launched(choice, bubble, now), ready, unknown};
    return gpu_.share(ready, offers_.alone(choice));
  }
  const TimePoint begins = count_ == 0 ? ready : std::max(ready, slices_[count_ - 1].ends);
  const Launched launched{offers_.launched(choice, bubble, now), begins, begins + offers_.alone(choice)};
  slices_[count_++] = launched;
  not_counted_.push_back(launched);
  if (gpu_.take) gpu_.take(launched.begins, launched.ends);
}

void Executor::shared_ended(TimePoint now) {
  for (std::uint32_t i = 0; i < count_; ++i)
    if (slices_[i].ends == unknown) return void(slices_[i].ends = now);
}

void Executor::reap(TimePoint now, std::vector<SliceRecord>& finished) {
  while (count_ != 0 && slices_[0].ends <= now) {
    const Launched first = slices_[0];
    slices_[0] = slices_[1];
    --count_;
    finished.push_back(offers_.finished(first, now));
    if (first.place.ends_unit && offers_.unit_ended(first.choice.job)) done_[first.choice.job] = now;
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
