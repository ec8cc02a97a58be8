// See live_accounts.h.
#include "runner/policy/live_accounts.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "trace/record_fields.h"

namespace weft {
namespace {

LiveFilling filling_of(Snapshot::Filling filling) {
  switch (filling) {
    case Snapshot::Filling::fills:
      return LiveFilling::fills;
    case Snapshot::Filling::paused:
      return LiveFilling::paused;
    case Snapshot::Filling::ended:
      return LiveFilling::ended;
    case Snapshot::Filling::observes:
      break;
  }
  return LiveFilling::observes;
}

void set_prices(const TraceSummary& totals, LiveNumbers& numbers) {
  const SlowdownRecord slowdown = totals.slowdown.value_or(SlowdownRecord{});
  numbers.slowdown_known = totals.slowdown ? 1 : 0;
  numbers.slowdown = slowdown.estimate;
  numbers.slowdown_low = slowdown.low;
  numbers.slowdown_high = slowdown.high;
  numbers.slowdown_budget = slowdown.budget;
  numbers.slowdown_control = slowdown.control;
  numbers.slowdown_filled = slowdown.filled;
  const WatchingRecord watching = totals.watching.value_or(WatchingRecord{});
  numbers.watching_known = watching.dark;
  numbers.watching = watching.estimate;
  numbers.watching_low = watching.low;
  numbers.watching_high = watching.high;
}

}  // namespace

void LiveAccounts::push(const Record& record) noexcept {
  visit_kind(record, [this](const auto& value) { add(value); });
}

void LiveAccounts::add(const Bubble& bubble) {
  const Duration idle = bubble.closed - bubble.opened;
  idle_by_cause_[static_cast<std::size_t>(bubble.cause)] += idle.count();
  if (bubble.forecast) add_forecast(*bubble.forecast, idle);
  if (bubble.cause == Cause::receive) add_wait(bubble.slot.communicator, bubble.slot.receive_peer, idle);
  if (bubble.cause == Cause::send) add_wait(bubble.slot.communicator, bubble.slot.send_peer, idle);
}

void LiveAccounts::add_wait(CommunicatorId communicator, std::int32_t peer, Duration idle) {
  if (peer < 0) return;
  const auto end = waits_.begin() + static_cast<std::ptrdiff_t>(wait_count_);
  const auto found = std::find_if(
      waits_.begin(), end, [&](const Wait& wait) { return wait.communicator == communicator && wait.peer == peer; });
  if (found != end) {
    found->idle += idle;
  } else if (wait_count_ < waits_.size()) {
    waits_[wait_count_++] = {communicator, peer, idle};
  } else {
    other_waits_ += idle;
  }
}

void LiveAccounts::add_forecast(const Forecast& forecast, Duration length) {
  if (length <= Duration{}) return;
  const double error = static_cast<double>((forecast.median - length).count()) / static_cast<double>(length.count());
  errors_[forecasts_ % latest_errors] = static_cast<float>(std::abs(error));
  ++forecasts_;
  if (forecast.low <= length && length <= forecast.high) ++within_;
}

// Nothing is known of a dark one but when it ended.
void LiveAccounts::add(const Iteration& iteration) {
  last_iteration_ = iteration.number;
  last_iteration_ended_ = iteration.ended;
  const std::int64_t filled = std::exchange(filled_, 0);
  if (iteration.dark) return;
  recent_[iterations_++ % live_iterations] = {(iteration.ended - iteration.started).count(), iteration.idle.count(),
                                              iteration.uncertain.count(), filled};
}

void LiveAccounts::add(const MemoryRecord& memory) {
  memory_ = memory;
  memory_known_ = true;
}

void LiveAccounts::add(const JobRecord& job) {
  if (job.job >= jobs_.size()) return;
  if (job.event == JobEvent::ready)
    jobs_[job.job] = job.name;
  else
    jobs_[job.job] = "";
}

void LiveAccounts::add(const AnomalyRecord& anomaly) {
  ++anomalies_;
  anomaly_ = anomaly.text;
  if (anomaly.stops_filling && stopped_.empty()) stopped_ = anomaly.text;
}

// A closed one stays known where its place is not needed: waits for its ranks are still in the sums.
void LiveAccounts::add(const CommunicatorRecord& communicator) {
  if (communicator.event != CommunicatorEvent::opened || communicator.id == 0) return;
  const auto place = std::ranges::find_if(communicators_, [](const Opened& one) { return one.known.id == 0; });
  if (place == communicators_.end())
    ++communicators_left_out_;
  else
    *place = {communicator.communicator, {communicator.id, communicator.rank, communicator.ranks}};
}

LiveCommunicator LiveAccounts::known(CommunicatorId communicator) const {
  const auto found = std::ranges::find_if(
      communicators_, [&](const Opened& one) { return one.known.id != 0 && one.communicator == communicator; });
  return found == communicators_.end() ? LiveCommunicator{} : found->known;
}

double LiveAccounts::forecast_error() const {
  const auto count = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(forecasts_, latest_errors));
  if (count == 0) return 0;
  std::array<float, latest_errors> errors = errors_;
  std::nth_element(errors.begin(), errors.begin() + count / 2, errors.begin() + count);
  return static_cast<double>(errors[static_cast<std::size_t>(count / 2)]);
}

void LiveAccounts::fill(const Snapshot& now, LiveNumbers& numbers) const {
  numbers.idle_by_cause = idle_by_cause_;
  fill_iterations(numbers);
  numbers.forecasts = forecasts_;
  numbers.forecasts_within = within_;
  numbers.forecast_error = forecast_error();
  numbers.fill_share = now.share;
  numbers.filling = filling_of(now.filling);
  numbers.memory_known = memory_known_ ? 1 : 0;
  numbers.memory_cap = static_cast<std::int64_t>(memory_.cap);
  numbers.memory_reserved = static_cast<std::int64_t>(memory_.reserved);
  numbers.memory_used = static_cast<std::int64_t>(memory_.used);
  numbers.device_free = static_cast<std::int64_t>(memory_.device_free);
  numbers.device_total = static_cast<std::int64_t>(memory_.device_total);
  fill_jobs(numbers);
  numbers.anomalies = anomalies_;
  set_text(numbers.anomaly, anomaly_);
  // A pause is an anomaly, and nothing but its end comes after it as a rule.
  const bool is_paused = numbers.filling == LiveFilling::paused;
  set_text(numbers.why, !stopped_.empty() ? std::string_view(stopped_)
                        : is_paused       ? std::string_view(anomaly_)
                                          : std::string_view());
  fill_waits(numbers);
}

void LiveAccounts::fill_iterations(LiveNumbers& numbers) const {
  numbers.last_iteration = last_iteration_;
  numbers.last_iteration_ended = last_iteration_ended_.time_since_epoch().count();
  const std::uint64_t count = std::min<std::uint64_t>(iterations_, live_iterations);
  numbers.recent_count = static_cast<std::uint32_t>(count);
  for (std::uint64_t place = 0; place < count; ++place)
    numbers.recent[place] = recent_[(iterations_ - count + place) % live_iterations];
}

void LiveAccounts::fill_waits(LiveNumbers& numbers) const {
  numbers.idle_of_other_waits = other_waits_.count();
  numbers.wait_count = static_cast<std::uint32_t>(wait_count_);
  for (std::size_t place = 0; place < wait_count_; ++place) {
    const LiveCommunicator in = known(waits_[place].communicator);
    numbers.waits[place] = {in.id, waits_[place].idle.count(), waits_[place].peer, in.ranks};
  }
  numbers.communicators_left_out = communicators_left_out_;
  std::uint32_t count = 0;
  for (const Opened& one : communicators_)
    if (one.known.id != 0) numbers.communicators[count++] = one.known;
  numbers.communicator_count = count;
}

// As many names as fit; "..." stands for the rest.
void LiveAccounts::fill_jobs(LiveNumbers& numbers) const {
  constexpr std::string_view more = ", ...";
  std::array<char, sizeof numbers.fill_jobs> text{};
  std::size_t size = 0;
  for (const JobName& job : jobs_) {
    if (job.empty()) continue;
    const std::string_view name = job, between = size == 0 ? "" : ", ";
    const bool fits = size + between.size() + name.size() + more.size() < text.size();
    for (const std::string_view part : fits ? std::array{between, name} : std::array{more, std::string_view()}) {
      std::copy(part.begin(), part.end(), text.begin() + static_cast<std::ptrdiff_t>(size));
      size += part.size();
    }
    if (!fits) break;
  }
  set_text(numbers.fill_jobs, {text.data(), size});
}

void set_totals(const TraceSummary& totals, const std::optional<StartupRecord>& startup, LiveNumbers& numbers) {
  numbers.window_begin = totals.window_begin.time_since_epoch().count();
  numbers.window_end = totals.window_end.time_since_epoch().count();
  numbers.idle = totals.idle.count();
  numbers.uncertain = totals.uncertain.count();
  numbers.dark = totals.dark.count();
  numbers.filled = totals.filled.count();
  numbers.idle_left_out = totals.idle_left_out.count();
  numbers.moved = totals.moved.count();
  numbers.iterations = totals.iterations;
  numbers.bubbles = totals.bubbles;
  numbers.slices = totals.slices;
  numbers.fill_units = totals.fill_units;
  numbers.fill_units_wrong = totals.fill_units_wrong;
  std::ranges::copy(totals.unfilled, numbers.unfilled.begin());
  set_prices(totals, numbers);
  numbers.startup_known = startup ? 1 : 0;
  if (!startup) return;
  numbers.startup_length = startup->length.count();
  numbers.startup_idle = startup->idle.count();
  numbers.startup_uncertain = startup->uncertain.count();
  numbers.startup_filled = startup->filled.count();
}

}  // namespace weft
