// See executor.h.
#include "runner/model/executor.h"

#include <algorithm>
#include <utility>

namespace weft::model {

Executor::Executor(const std::deque<Job>& jobs, JobPolicy policy, SliceGpu gpu, std::uint64_t room)
    : jobs_(jobs), room_(room), gpu_(std::move(gpu)), offers_(policy) {
  for (const Job& job : jobs_) {
    choices_.emplace_back(job);
    have_variants_ = have_variants_ || job.variants() > 1;
  }
  arrive(TimePoint{});
}

bool Executor::arrive(TimePoint now) {
  const std::size_t before = arrived_;
  while (arrived_ < jobs_.size() && jobs_[arrived_].arrives() <= now) ++arrived_;
  admit(now);
  return arrived_ != before;
}

void Executor::admit(TimePoint now) {
  for (std::uint32_t number = 0; number < arrived_; ++number) {
    const Job& job = jobs_[number];
    VariantChoice& choice = choices_[number];
    if (is_admitted(number) || !choice.choose(room_ - used_, now)) continue;
    admitted_.push_back(number);
    used_ += choice.reserved();
    offers_.add(job.cuts(choice.present()), job.alone(choice.present()), job.terms());
    if (job.variants() > 1) note_ready(now, number);
  }
}

void Executor::change_variants(TimePoint now) {
  if (!have_variants_ || count_ != 0) return;
  for (std::uint32_t place = 0; place < admitted_.size(); ++place) {
    const std::uint32_t number = admitted_[place];
    VariantChoice& choice = choices_[number];
    if (jobs_[number].variants() == 1 || !offers_.is_offered(place)) continue;
    const std::size_t before = choice.present();
    const std::uint64_t had = choice.reserved(), others = used_ - had;
    if (!choice.change(room_ - others, now, one_waits() ? Growth::not_now : Growth::allowed)) continue;
    used_ = others + choice.reserved();
    offers_.end(place);
    offers_.replace(place, jobs_[number].cuts(choice.present()), jobs_[number].alone(choice.present()));
    variant_events_.push_back(
        {now, number, JobEvent::withdrawn, jobs_[number].variant(before), choice.why_changed(), had});
    note_ready(now, number);
  }
}

bool Executor::one_waits() const {
  std::uint64_t free = room_;
  for (const std::uint32_t number : admitted_)
    if (jobs_[number].terms().units == 0) free -= choices_[number].reserved();
  for (std::uint32_t number = 0; number < arrived_; ++number)
    if (!is_admitted(number) && may_have_room(number, free)) return true;
  return false;
}

void Executor::note_ready(TimePoint now, std::uint32_t job) {
  const VariantChoice& choice = choices_[job];
  variant_events_.push_back({now, job, JobEvent::ready, choice.name(), choice.why(), choice.reserved()});
}

std::string Executor::variant(std::uint32_t job) const {
  return is_admitted(job) && jobs_[job].variants() > 1 ? choices_[job].name() : "";
}

bool Executor::may_have_room(std::uint32_t job, std::uint64_t memory) const {
  for (std::size_t variant = 0; variant < jobs_[job].variants(); ++variant)
    if (jobs_[job].memory(variant) <= memory) return true;
  return false;
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
  view.in_flight.first_ends = expected_end(0);
  view.in_flight.expected_end = expected_end(count_ - 1);
  return view;
}

TimePoint Executor::expected_end(std::uint32_t index) const {
  if (slices_[index].ends == unknown) return unknown;
  const Duration alone = offers_.alone(slices_[index].choice);
  return alone + (index == 0 ? slices_[0].should_begin : std::max(slices_[index].launched, expected_end(index - 1)));
}

void Executor::launch(TimePoint now, std::uint64_t bubble, const Choice& choice) {
  const TimePoint ready = now + launch_latency;
  if (std::optional<TimePoint>& began = began_[admitted_[choice.job]]; !began) began = now;
  if (gpu_.share) {
    slices_[count_++] = {offers_.launched(choice, bubble, now), ready, unknown, now};
    return gpu_.share(ready, offers_.alone(choice));
  }
  const TimePoint begins = count_ == 0 ? ready : std::max(ready, slices_[count_ - 1].ends + behind_another);
  const Launched launched{offers_.launched(choice, bubble, now), begins, begins + offers_.alone(choice), now};
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
    const TimePoint expected = expected_end(0);
    slices_[0] = slices_[1];
    --count_;
    if (count_ != 0 && expected != unknown)
      slices_[0].should_begin = began_behind(expected, reaped_, slices_[0].launched, now);
    const std::uint32_t job = admitted_[first.choice.job];
    finished.push_back(offers_.finished(first, now));
    finished.back().job = job;
    if (!first.place.ends_unit || !offers_.unit_ended(first.choice.job)) continue;
    done_[job] = now;
    used_ -= choices_[job].reserved();
    admit(now);
  }
  reaped_ = now;
}

Duration Executor::within(TimePoint from, TimePoint until) {
  Duration sum{};
  for (const Launched& slice : not_counted_)
    sum += std::max(std::min(slice.ends, until) - std::max(slice.begins, from), Duration{});
  std::erase_if(not_counted_, [&](const Launched& slice) { return slice.ends <= until; });
  return sum;
}

}  // namespace weft::model
