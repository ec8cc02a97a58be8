// See estimate.h.
#include "runner/model/estimate.h"

#include <algorithm>

namespace weft::model {

// As Session learns them: the thread wakes up late and looks, and half of the time by which the end of a slice is seen
// late is lateness.
EstimatedRank::EstimatedRank(const std::deque<Job>& jobs, const EstimateOptions& options)
    : options_(options), budget_(options.slowdown_budget), stream_(jobs, JobPolicy::throughput) {
  const DispatcherTimes& times = options.dispatcher;
  planner_.between_slices = times.wake_up + times.look;
  planner_.launching = Executor::launch_latency + Executor::behind_another;
  planner_.lateness = planner_.between_slices / 2;
}

// Before the first iteration nothing is filled. That part of the run is not what a day of it looks like.
void EstimatedRank::add(const Bubble& bubble) {
  const Duration length = bubble.closed - bubble.opened;
  if (bubble.iteration == 0 || length <= Duration{}) return;
  ++result_.bubbles;
  result_.idle += length;
  if (budget_.leaves_out(bubble)) result_.left_out += length;
  const bool may_fill = budget_.may_fill(bubble);
  const bool is_filled = may_fill && fill(bubble);
  if (!may_fill) count(Unfilled::held_back);
  if (budget_.is_limited(bubble) && had_room(bubble)) budget_.had_room(bubble, is_filled);
}

// As Session has it.
bool EstimatedRank::had_room(const Bubble& bubble) {
  if (bubble.forecast->median <= options_.poll || stream_.make_offers() == 0) return false;
  planner_.price = budget_.first_price();
  return plan(planner_, bubble.opened, bubble.opened, bubble, {}, stream_.offer(0).candidates).launch;
}

// False: it got no slice, which is counted.
bool EstimatedRank::fill(const Bubble& bubble) {
  const DispatcherTimes& times = options_.dispatcher;
  planner_.price = budget_.price(bubble.rhythm);
  const std::uint64_t slices_before = result_.slices;
  Decision last;
  TimePoint now = bubble.opened + bubble.opened_within + times.look;
  while (now < bubble.closed) {
    stream_.reap(now, finished_);
    if (!launch_all(bubble, now, now, last)) break;
    const bool runs = stream_.in_flight() != 0;
    const TimePoint next = runs ? last.again.value_or(stream_.view().in_flight.first_ends) : now + options_.poll;
    now = std::max(next, now) + times.wake_up + times.look;
  }
  result_.filled += stream_.within(bubble.opened, bubble.closed);
  if (stream_.in_flight() != 0) {
    const Duration overrun = std::max(stream_.last_end() - bubble.closed, Duration{});
    budget_.overran(overrun);
    delay_ += overrun;
    result_.delay += overrun;
    stream_.reap(std::max(stream_.last_end(), now), finished_);
  }
  for (const SliceRecord& slice : finished_) result_.units += slice.unit_done ? 1 : 0;
  finished_.clear();
  const bool is_filled = result_.slices != slices_before;
  if (is_filled)
    ++result_.filled_bubbles;
  else
    count(last.refusal.value_or(Unfilled::other));
  return is_filled;
}

// False: nothing that the planner may say later would change its answer.
bool EstimatedRank::launch_all(const Bubble& bubble, TimePoint seen, TimePoint& now, Decision& last) {
  last = {};
  while (stream_.make_offers() != 0) {
    const FillView view = stream_.offer(0);
    last = plan(planner_, now, seen, bubble, view.in_flight, view.candidates, budget_.guard(bubble));
    if (!last.launch) break;
    stream_.launch(now, bubble.id, stream_.choice(0, last.candidate));
    budget_.launched(bubble.iteration);
    ++result_.slices;
    now += options_.dispatcher.launch;
  }
  return !last.refusal || *last.refusal == Unfilled::no_room || *last.refusal == Unfilled::no_forecast;
}

// It would have been longer by what its slices cost.
void EstimatedRank::add(const Iteration& iteration) {
  since_found_ = iteration.rhythm == rhythm_ && iteration.number == last_iteration_ + 1 ? since_found_ + 1 : 1;
  rhythm_ = iteration.rhythm;
  last_iteration_ = iteration.number;
  Iteration longer = iteration;
  longer.since_found = since_found_;
  longer.ended += delay_;
  delay_ = {};
  budget_.ended(longer);
}

}  // namespace weft::model
