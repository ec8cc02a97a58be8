// See planner.h.
#include "runner/policy/planner.h"

#include <algorithm>

#include "detector/dcheck.h"

namespace weft {
namespace {

// Where the bubble is taken to end. Between the low quantile and the median lies the spread of the slot. A small spread
// is partly covered by the guard already, so up to half the guard of it is used; a large one is not risked.
TimePoint taken_end(const PlannerOptions& options, const Bubble& bubble) {
  const Forecast& forecast = *bubble.forecast;
  return bubble.opened + std::min(forecast.median, forecast.low + options.guard / 2);
}

}  // namespace

Decision plan(const PlannerOptions& options, TimePoint now, const std::optional<Bubble>& bubble,
              const InFlight& in_flight, Duration slice) {
  if (!bubble) return {};
  const auto refused = [&](Unfilled reason) { return Decision{false, std::nullopt, reason, bubble->id}; };
  if (bubble->pattern == Pattern::posted_early) return refused(Unfilled::posted_early);
  if (!bubble->forecast) return refused(Unfilled::no_forecast);
  if (bubble->forecast->low < options.floor) return refused(Unfilled::too_short);
  WEFT_DCHECK(bubble->forecast->low <= bubble->forecast->median && slice > Duration{});
  // A slice over the cap is a single long kernel, whose length is less sure: it needs room for itself twice.
  const Duration room = slice > options.slice_cap ? 2 * slice : slice;
  const TimePoint start = in_flight.slices == 0 ? now : std::max(now, in_flight.expected_end);
  const TimePoint end = start + room + options.guard;
  if (end > taken_end(options, *bubble)) return refused(Unfilled::no_room);
  const Decision launch{true, std::nullopt, std::nullopt, bubble->id};
  if (in_flight.slices == 0) return launch;
  // One that waits runs in any case: it may only where the low quantile covers it, too.
  const bool covered = end <= bubble->opened + bubble->forecast->low;
  if (covered && in_flight.slices < options.most_in_flight) return launch;
  // One of those in flight has to finish first. The first of two is over when only the other one is left to run.
  const bool one_may_wait = covered && options.most_in_flight > 1;
  const Duration still_running = one_may_wait ? std::min(slice, options.slice_cap) : Duration{0};
  return {false, std::max(now, in_flight.expected_end - still_running), std::nullopt, bubble->id};
}

}  // namespace weft
