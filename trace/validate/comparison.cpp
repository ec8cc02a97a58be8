// See the header.
#include "trace/validate/comparison.h"

#include <algorithm>
#include <cstdlib>

#include "trace/formatted.h"

namespace weft {
namespace {

constexpr std::size_t most_listed = 5;

Spans without_shorter(Spans spans, std::int64_t shortest) {
  std::erase_if(spans, [&](const Span& span) { return span.length() < shortest; });
  return spans;
}

Spans longest(Spans spans) {
  std::ranges::stable_sort(spans, {}, [](const Span& span) { return -span.length(); });
  spans.resize(std::min(spans.size(), most_listed));
  return spans;
}

// The part of `span` that is in `set`.
std::int64_t common(const Span& span, const Spans& set) {
  std::int64_t sum = 0;
  auto next = std::ranges::upper_bound(set, span.begin, {}, &Span::end);
  for (; next != set.end() && next->begin < span.end; ++next)
    sum += std::min(next->end, span.end) - std::max(next->begin, span.begin);
  return sum;
}

bool is_mostly_in(const Span& span, const Spans& set) {
  return 2 * common(span, set) >= span.length();
}

EndErrors errors_of(std::vector<std::int64_t> late) {
  EndErrors errors;
  if (late.empty()) return errors;
  std::ranges::sort(late);
  errors.samples = late.size();
  errors.median = late[late.size() / 2];
  errors.latest = std::max<std::int64_t>(late.back(), 0);
  std::ranges::sort(late, {}, [](std::int64_t value) { return std::abs(value); });
  errors.p99 = std::abs(late[(late.size() - 1) * 99 / 100]);
  return errors;
}

// Stretches with less than `gap` between them as one: NCCL's kernels follow each other after some microseconds, and
// bubbles do so without any.
Spans joined(const Spans& spans, std::int64_t gap) {
  Spans result;
  for (const Span& span : spans)
    if (!result.empty() && span.begin - result.back().end < gap)
      result.back().end = std::max(result.back().end, span.end);
    else
      result.push_back(span);
  return result;
}

// Each end of a reported stretch against the outermost true one that it overlaps. Where a true stretch was reported as
// several, only its own ends are compared, and the other way round.
void compare_ends(const Spans& reported, const Spans& idle, Comparison& result) {
  std::vector<std::int64_t> opens, closes;
  std::optional<Span> latest;  // true one, whose end was compared last
  for (const Span& stretch : reported) {
    const auto first = std::ranges::upper_bound(idle, stretch.begin, {}, &Span::end);
    if (first == idle.end() || first->begin >= stretch.end) continue;
    const auto last = std::prev(std::ranges::lower_bound(idle, stretch.end, {}, &Span::begin));
    if (latest != *first) opens.push_back(stretch.begin - first->begin);
    if (latest == *last) closes.pop_back();
    closes.push_back(stretch.end - last->end);
    latest = *last;
  }
  result.opens = errors_of(std::move(opens));
  result.closes = errors_of(std::move(closes));
}

// Unlike in a united set, bubbles that follow each other stay apart.
Spans sorted_within(AnySpans spans, const Spans& windows) {
  std::ranges::sort(spans, {}, &Span::begin);
  std::erase_if(spans, [&](const Span& span) { return span.length() <= 0 || !is_mostly_in(span, windows); });
  return spans;
}

void compare_bubbles(const Reported& reported, const Spans& windows, const Spans& idle, const Spans& found,
                     std::int64_t gap, Comparison& result) {
  const Spans bubbles = sorted_within(reported.bubbles, windows);
  result.bubbles = bubbles.size();
  for (const Span& bubble : bubbles) {
    if (is_mostly_in(bubble, idle)) {
      ++result.matched;
    } else {
      ++result.false_bubbles;
      result.long_false += bubble.length() >= long_bubble ? 1 : 0;
    }
  }
  const Spans stretches = joined(idle, gap);
  result.true_bubbles = stretches.size();
  for (const Span& one : stretches) {
    const bool is_long = one.length() >= long_bubble, missed = !is_mostly_in(one, found);
    result.missed_bubbles += missed ? 1 : 0;
    result.long_true += is_long ? 1 : 0;
    result.long_missed += is_long && missed ? 1 : 0;
  }
  compare_ends(joined(bubbles, gap), stretches, result);
}

// Of each window the time before the first of `spans` begins there.
Spans before_first(const Spans& spans, const Spans& windows) {
  Spans result;
  for (const Span& window : windows) {
    const auto first = std::ranges::upper_bound(spans, window.begin, {}, &Span::end);
    if (first != spans.end() && first->begin > window.begin)
      result.push_back({window.begin, std::min(first->begin, window.end)});
  }
  return result;
}

double per_cent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

Comparison compare(const Reported& reported, const DeviceTruth& truth, Span known, std::int64_t shortest) {
  Comparison result;
  const Spans windows = intersection(united(reported.windows), united({known}));
  const Spans compute = intersection(truth.compute, windows);
  const Spans said = intersection(united(reported.said), windows);
  const Spans all_idle = without_shorter(difference(intersection(truth.communication, windows), compute), shortest);
  const Spans idle = without_shorter(difference(all_idle, said), shortest);
  const Spans seen = difference(intersection(united(reported.bubbles), windows), said);
  const Spans uncertain = difference(difference(intersection(united(reported.uncertain), windows), seen), said);
  AnySpans all = seen;
  all.insert(all.end(), uncertain.begin(), uncertain.end());
  const Spans found = united(std::move(all));
  const Spans missed = difference(idle, found), wrong = difference(seen, idle);
  result.window = length(windows);
  result.trace_window = length(united(reported.windows));
  result.compute = length(compute);
  result.said_bubbles = sorted_within(reported.said, windows).size();
  result.said = length(said);
  result.said_beside_compute = length(intersection(said, compute));
  result.reported = length(seen);
  result.truth = length(idle);
  result.both = length(intersection(seen, idle));
  result.uncertain = length(uncertain);
  result.uncertain_truth = length(intersection(uncertain, idle));
  result.missed = length(missed);
  result.beside_compute = length(intersection(wrong, compute));
  result.beside_nothing = length(wrong) - result.beside_compute;
  result.before_nccl = length(intersection(difference(wrong, compute), before_first(truth.communication, windows)));
  if (result.truth > 0) result.coverage = static_cast<double>(result.both) / static_cast<double>(result.truth);
  if (result.reported > 0) result.precision = static_cast<double>(result.both) / static_cast<double>(result.reported);
  result.largest_missed = longest(missed);
  result.largest_false = longest(wrong);
  compare_bubbles(reported, windows, idle, found, shortest, result);
  const Spans fill = difference(intersection(truth.fill, windows), united(reported.moves));
  result.slices = reported.slices;
  result.fill_records = truth.fill_records;
  result.fill_alone = reported.fill_alone;
  result.fill_busy = truth.fill_busy;
  AnySpans fillable = difference(said, compute);
  fillable.insert(fillable.end(), idle.begin(), idle.end());
  result.fill_in_idle = length(intersection(fill, united(std::move(fillable))));
  result.fill_beside_compute = length(intersection(fill, compute));
  return result;
}
std::vector<std::string> faults(const Comparison& comparison, const Bounds& bounds) {
  std::vector<std::string> result;
  const auto kept = [&](std::int64_t lost, std::int64_t whole) {
    return comparison.share(lost) < bounds.forgiven ||
           static_cast<double>(whole - lost) >= bounds.least * static_cast<double>(whole);
  };
  if (!kept(comparison.missed, comparison.truth))
    result.push_back(formatted("%.1f %% of the true idle time was neither reported nor uncertain",
                               per_cent(comparison.missed, comparison.truth)));
  if (!kept(comparison.beside_compute, comparison.reported))
    result.push_back(formatted("the training computed in %.1f %% of the reported idle time",
                               per_cent(comparison.beside_compute, comparison.reported)));
  if (!kept(comparison.said_beside_compute, comparison.said))
    result.push_back(formatted("the training computed in %.1f %% of the time that the program said to be idle",
                               per_cent(comparison.said_beside_compute, comparison.said)));
  if (comparison.slices > 0 && comparison.fill_records == 0)
    result.push_back("slices ran, and none of their kernels was on the fill stream: here they count as training");
  return result;
}

std::vector<std::string> doubts(const Comparison& comparison, const Bounds& bounds) {
  if (comparison.window <= 0) return {"there is no time that trace and truth have in common"};
  std::vector<std::string> result;
  const auto too_much = [&](std::int64_t part, std::int64_t whole, double most) {
    return comparison.share(part) >= bounds.forgiven && static_cast<double>(part) > most * static_cast<double>(whole);
  };
  const double compared = per_cent(comparison.window, comparison.trace_window);
  if (compared < 100 * bounds.least_compared)
    result.push_back(formatted("only %.1f %% of the trace's window could be compared (bound: %.3g %%)", compared,
                               100 * bounds.least_compared));
  if (comparison.truth == 0 && comparison.share(comparison.reported) >= bounds.forgiven)
    result.push_back(
        formatted("%.1f %% of the window was reported as idle, and CUPTI shows no idle time at all that "
                  "lasts --shortest",
                  per_cent(comparison.reported, comparison.window)));
  if (too_much(comparison.uncertain_truth, comparison.truth, bounds.most_uncertain))
    result.push_back(formatted("Weft was uncertain in %.1f %% of the true idle time (bound: %.3g %%)",
                               per_cent(comparison.uncertain_truth, comparison.truth), 100 * bounds.most_uncertain));
  const std::int64_t unexplained = comparison.beside_nothing - comparison.before_nccl;
  if (too_much(unexplained, comparison.reported, bounds.most_beside_nothing))
    result.push_back(
        formatted("in %.1f %% of the reported idle time CUPTI shows no kernel at all, or none of NCCL for "
                  "as long as --shortest (bound: %.3g %%): records may be missing",
                  per_cent(unexplained, comparison.reported), 100 * bounds.most_beside_nothing));
  return result;
}

}  // namespace weft
