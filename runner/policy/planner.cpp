// See planner.h.
#include "runner/policy/planner.h"

#include <algorithm>

#include "detector/dcheck.h"
#include "runner/policy/remaining.h"
#include "runner/policy/seconds.h"

namespace weft {
namespace {

// From the time at which a launch is wanted until its slice begins, but for a share of them.
Duration in_time(const PlannerOptions& options) {
  return options.between_slices + options.launching;
}
constexpr double comes_late = 1.0 / 8;  // as between_slices has it

struct Best {
  std::uint32_t candidate = 0;
  double worth = 0;  // won per time; 0: none is worth it
};

Best best_of(const PlannerOptions& options, const Remaining& remaining, Duration until, const Candidates& candidates) {
  Best best;
  for (std::uint32_t i = 0; i < candidates.count; ++i) {
    const Duration takes = candidates.alone[i] + options.lateness;
    const double length = seconds(candidates.alone[i]), pause = seconds(in_time(options));
    const double alone = length - options.price * seconds(remaining.expected_overrun(until, takes));
    // That the bubble ends after the last look before the next one's launch.
    const double unseen =
        remaining.ends_within(until + takes) - remaining.ends_within(until + takes - std::min(takes, in_time(options)));
    const double behind = alone - options.price * unseen * seconds(takes);
    const double worth = std::max(alone / (length + pause),
                                  options.most_in_flight > 1 ? behind / (length + seconds(options.behind_another)) : 0);
    if (worth > best.worth) best = {i, worth};
  }
  return best;
}

// Behind another slice. `ends`: the chance that the bubble does before this one begins.
bool saves_more_than_it_risks(const PlannerOptions& options, double ends, Duration takes, bool is_early) {
  const Duration pause = std::max(in_time(options) - options.behind_another, Duration{});
  const double saved = (1 - ends) * seconds(pause) * (is_early ? comes_late : 1);
  return saved > options.price * ends * seconds(takes);
}

}  // namespace

Decision plan(const PlannerOptions& options, TimePoint now, TimePoint seen, const std::optional<Bubble>& bubble,
              const InFlight& in_flight, const Candidates& candidates, Duration guard) {
  if (!bubble) return {};
  WEFT_DCHECK(candidates.count > 0);
  Decision decision;
  decision.bubble = bubble->id;
  if (bubble->pattern == Pattern::posted_early) return decision.refusal = Unfilled::posted_early, decision;
  if (now - bubble->opened > options.hangs_after) return decision.refusal = Unfilled::other, decision;
  const TimePoint known = std::clamp(seen, bubble->opened, std::max(now, bubble->opened));
  const Remaining remaining(bubble->forecast, known - bubble->opened);
  const TimePoint begin = in_flight.slices == 0 ? now : std::max(in_flight.expected_end + options.surely_late, now);
  const Duration until = std::max(begin - known, Duration{});
  const bool guarded = is_guarded(*bubble, begin, guard);
  const Best best = best_of(options, remaining, until, candidates);
  if (in_flight.slices == 0) {
    decision.launch = best.worth > 0 && !guarded;
    decision.candidate = best.candidate;
    if (best.worth == 0)
      decision.refusal = bubble->forecast ? Unfilled::no_room : Unfilled::no_forecast;
    else if (guarded)
      decision.refusal = Unfilled::held_back;
    return decision;
  }
  decision.again = look_for_end(now, in_flight.first_ends);
  if (in_flight.slices >= options.most_in_flight || best.worth == 0 || guarded) return decision;
  decision.candidate = best.candidate;
  const TimePoint latest = begin - in_time(options);
  const Duration takes = candidates.alone[best.candidate] + options.lateness;
  if (saves_more_than_it_risks(options, remaining.ends_within(until), takes, now < latest)) {
    decision.launch = true;
    decision.again.reset();
  } else if (now < latest) {
    decision.waits = true;
    decision.again = std::min(*decision.again, latest);
  }
  return decision;
}

}  // namespace weft
