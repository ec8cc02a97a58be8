// See weft_policy.h.
#include "runner/model/weft_policy.h"

#include <algorithm>

namespace weft::model {
namespace {

// A thread that does not sleep asks more often. It makes no difference: the chance that a bubble lasts changes slowly.
constexpr Duration between_refusals{50'000};

}  // namespace

void WeftPolicy::look(TimePoint now, std::span<const Event> events, std::span<const SliceRecord> finished,
                      const FillView& view) {
  for (const Event& event : events) session_.observe(event);
  session_.looked(now);
  answers_.give(session_, now);
  for (const SliceRecord& slice : finished) session_.finished(slice);
  next_decision_.reset();
  session_.look(now, view);
}

Decision WeftPolicy::decide(TimePoint now, const FillView& view) {
  const Decision decision = session_.decide(now, view);
  if (decision.bubble != 0 || session_.is_dark()) leaves_out_ = session_.leaves_out();
  const bool may_change = decision.refusal == Unfilled::no_forecast || decision.refusal == Unfilled::no_room;
  next_decision_ = decision.again;
  if (may_change) next_decision_ = std::max(session_.next_look(now, {}), now + between_refusals);
  return decision;
}

TimePoint WeftPolicy::next_look(TimePoint now, std::uint32_t in_flight) const {
  return session_.next_look(now, {false, in_flight, true});
}

}  // namespace weft::model
