// See executor.h.
#include "runner/model/executor.h"

#include <algorithm>
#include <utility>

namespace weft::model {

Executor::Executor(const std::deque<Job>& jobs, JobPolicy policy, SliceGpu gpu, std::uint64_t room)
    : jobs_(jobs), room_(room), gpu_(std::move(gpu)), offers_(policy) {
  arrive(TimePoint{});
}

bool Executor::arrive(TimePoint now) {
  const std::size_t before = arrived_;
  while (arrived_ < jobs_.size() && jobs_[arrived_].arrives() <= now) ++arrived_;
  admit();
  return arrived_ != before;
}

void Executor::admit() {
  for (std::uint32_t number = 0; number < arrived_; ++number) {
    const Job& job = jobs_[number];
    if (std::ranges::find(admitted_, number) != admitted_.end() || job.memory() > room_ - used_) continue;
    admitted_.push_back(number);
    used_ += job.memory();
    offers_.add(job.cuts(), job.alone(), job.terms());
  }
}

JobStanding Executor::standing(std::uint32_t job) const {
  const auto found = std::ranges::find(admitted_, job);
  if (found == admitted_.end()) return {};
  return offers_.standing(static_cast<std::uint32_t>(found - admitted_.begin()));
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
  if (std::optional<TimePoint>& began = began_[admitted_[choice.job]]; !began) began = now;
  if (gpu_.share) {
    slices_[count_++] = {offers_.launched(choice, bubble, now), ready, unknown};
    return gpu_.share(ready, offers_.alone(choice));
  }
  const TimePoint begins = count_ == 0 ? ready : std::max(ready, slices_[count_ - 1].ends + behind_another);
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
    const std::uint32_t job = admitted_[first.choice.job];
    finished.push_back(offers_.finished(first, now));
    finished.back().job = job;
    if (!first.place.ends_unit || !offers_.unit_ended(first.choice.job)) continue;
    done_[job] = now;
    used_ -= jobs_[job].memory();
    admit();
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
