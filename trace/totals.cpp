// See totals.h.
#include "trace/totals.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <string_view>
#include <vector>

#include "trace/record_fields.h"

namespace weft {
namespace {

// Where the fields are that of two summaries become the sum.
struct Summands : IgnoredFields {
  void total(const char* /*key*/, std::uint64_t& count) { counted.push_back(&count); }
  void total(const char* /*key*/, Duration& length) { lengths.push_back(&length); }
  void total_if(bool& known, const char* /*key*/, Duration& length) {
    if (!known) length = {};
    lengths.push_back(&length);
  }
  void counts(const char* /*key*/, const auto& /*names*/, auto& array) {
    for (std::uint64_t& count : array) counted.push_back(&count);
  }
  template <class Part>
  void object(const char* /*key*/, std::optional<Part>& part) {
    if constexpr (std::same_as<Part, StartupRecord>)
      if (part) visit_fields(*this, *part);
  }
  std::vector<std::uint64_t*> counted;
  std::vector<Duration*> lengths;
};

// From the strongest to the weakest; of one that is not known here nobody knows how weak it is.
std::ptrdiff_t weakness(const RecordText& confinement) {
  constexpr std::array<std::string_view, 4> names{"", "job", "green", "none"};
  return std::ranges::find(names, std::string_view(confinement)) - names.begin();
}

// Whether the first says more of what filling cost: it is known, and it is more.
bool is_worse(const std::optional<WatchingRecord>& one, const std::optional<WatchingRecord>& other) {
  if (!one || !other) return one.has_value();
  if ((one->dark == 0) != (other->dark == 0)) return one->dark != 0;
  return one->estimate > other->estimate;
}
bool is_worse(const std::optional<SlowdownRecord>& one, const std::optional<SlowdownRecord>& other) {
  if (!one || !other) return one.has_value();
  if ((one->control == 0) != (other->control == 0)) return one->control != 0;
  if (one->is_known() != other->is_known()) return one->is_known();
  return one->estimate > other->estimate;
}

JobTotals& new_totals(TraceSummary& summary, std::uint32_t job, const JobName& name) {
  JobTotals made;
  made.job = job;
  made.name = name;
  if (summary.jobs.add(made)) return *(summary.jobs.end() - 1);
  JobTotals& last = *(summary.jobs.end() - 1);
  last.job = job;
  last.name = further_jobs;
  last.variant = "";
  return last;
}

// Of another rank: it may have another list, so a number alone says little.
JobTotals& totals_of(TraceSummary& summary, std::uint32_t job, const JobName& name) {
  for (JobTotals& known : summary.jobs)
    if (known.job == job && (name.empty() || known.name.empty() || known.name == name)) return known;
  return new_totals(summary, job, name);
}

// Of the job that has this number now.
JobTotals& present_totals_of(TraceSummary& summary, std::uint32_t job) {
  for (JobTotals* known = summary.jobs.end(); known-- != summary.jobs.begin();)
    if (known->job == job) return *known;
  return new_totals(summary, job, {});
}

void stop(TraceSummary& summary, const RecordText& reason) {
  if (summary.filling_stopped) return;
  summary.filling_stopped = true;
  summary.reason = reason;
}

}  // namespace

void add_to(Duration& sum, Duration part) {
  std::int64_t result = 0;
  const bool beyond = __builtin_add_overflow(sum.count(), part.count(), &result);
  sum = beyond ? Duration::max() : Duration(result);
}

void add_to(std::uint64_t& sum, std::uint64_t part) {
  if (__builtin_add_overflow(sum, part, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

void Totals::add(const Record& record) {
  visit_kind(record, [this](const auto& value) { add(value); });
}

void Totals::widen(TimePoint from, TimePoint to) {
  summary_.window_begin = has_window_ ? std::min(summary_.window_begin, from) : from;
  summary_.window_end = has_window_ ? std::max(summary_.window_end, to) : to;
  has_window_ = true;
}

void Totals::add(const Bubble& bubble) {
  add_to(summary_.bubbles, 1);
  add_to(summary_.idle, bubble.closed - bubble.opened);
  if (bubble.left_out) add_to(summary_.idle_left_out, bubble.closed - bubble.opened);
  startup_.add(bubble);
  summary_.forecasts = summary_.forecasts || bubble.forecast.has_value();
  // A bubble that an abort ended is idle time of a group that never was done.
  widen(bubble.opened, bubble.closed);
}

void Totals::add(const UncertainRecord& uncertain) {
  const Duration length = uncertain.ended - uncertain.began;
  add_to(summary_.uncertain, length);
  startup_.add(uncertain);
  // It may be all that is known of groups without markers.
  widen(uncertain.began, uncertain.ended);
  causes_.add(uncertain.why, length);
}

void Totals::add(const DarkTime& dark) {
  add_to(summary_.dark, dark.ended - dark.began);
  widen(dark.began, dark.ended);
}

void Totals::add(const SliceRecord& slice) {
  add_to(summary_.slices, 1);
  add_to(summary_.filled, slice.alone);
  startup_.add(slice);
  JobTotals& job = present_totals_of(summary_, slice.job);
  add_to(job.slices, 1);
  add_to(job.filled, slice.alone);
  if (!slice.unit_done) return;
  const std::uint64_t wrong = slice.correct == 0 ? 1 : 0;
  add_to(summary_.fill_units, 1);
  add_to(summary_.fill_units_wrong, wrong);
  add_to(job.units, 1);
  add_to(job.units_wrong, wrong);
}

void Totals::add(const MoveRecord& move) {
  add_to(summary_.moved, move.alone);
}

void Totals::add(const JobRecord& record) {
  if (record.event == JobEvent::refused) return;
  JobTotals* job = &present_totals_of(summary_, record.job);
  const bool is_another = !job->name.empty() && job->name != record.name && job->name != further_jobs;
  if (is_another && record.event == JobEvent::ready) job = &new_totals(summary_, record.job, record.name);
  add_to(job->held, record.held);
  if (job->name == further_jobs) return;
  job->name = record.name;
  if (record.event == JobEvent::ready) job->variant = record.variant;
}

void Totals::add(const Iteration& iteration) {
  add_to(summary_.iterations, 1);
  startup_.add(iteration);
  widen(iteration.started, iteration.ended);
}

void Totals::add(const AnomalyRecord& anomaly) {
  if (anomaly.stops_filling) stop(summary_, anomaly.text);
}

std::string name_with_variant(std::string_view job, std::string_view variant) {
  const std::string name(job);
  return variant.empty() ? name : name + " (" + std::string(variant) + ")";
}

TraceSummary Totals::with_startup_and_causes() const {
  TraceSummary summary = summary_;
  summary.startup = startup_.record(summary);
  summary.uncertain_reason = causes_.text();
  return summary;
}

void add_up(TraceSummary& sum, const TraceSummary& part) {
  TraceSummary copy = part;
  if (!part.startup) sum.startup.reset();
  if (!sum.startup) copy.startup.reset();
  Summands sums, parts;
  visit_fields(sums, sum);
  visit_fields(parts, copy);
  for (std::size_t i = 0; i < sums.counted.size(); ++i) add_to(*sums.counted[i], *parts.counted[i]);
  for (std::size_t i = 0; i < sums.lengths.size(); ++i) add_to(*sums.lengths[i], *parts.lengths[i]);
  for (const JobTotals& job : part.jobs) {
    JobTotals& all = totals_of(sum, job.job, job.name);
    if (all.name.empty()) all.name = job.name;
    add_variant(all.variant, job.variant);
    add_to(all.slices, job.slices);
    add_to(all.units, job.units);
    add_to(all.units_wrong, job.units_wrong);
    add_to(all.filled, job.filled);
    add_to(all.held, job.held);
  }
  if (is_worse(part.slowdown, sum.slowdown)) sum.slowdown = part.slowdown;
  if (is_worse(part.watching, sum.watching)) sum.watching = part.watching;
  if (part.filling_stopped) stop(sum, part.reason);
  sum.end_uncertainty = std::max(sum.end_uncertainty, part.end_uncertainty);
  if (sum.uncertain_reason.empty()) sum.uncertain_reason = part.uncertain_reason;
  if (sum.fill_stream.empty()) sum.fill_stream = part.fill_stream;
  sum.fill_confinement = weaker(sum.fill_confinement, part.fill_confinement);
}

RecordText weaker(const RecordText& one, const RecordText& other) {
  return weakness(other) > weakness(one) ? other : one;
}

}  // namespace weft
