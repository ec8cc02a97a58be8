// See baselines.h.
#include "runner/model/baselines/baselines.h"

#include <algorithm>

namespace weft::model {
namespace {

Decision launch(const Bubble& bubble, std::uint32_t candidate) {
  Decision decision;
  decision.launch = true;
  decision.candidate = candidate;
  decision.bubble = bubble.id;
  return decision;
}

Duration round_up(Duration length, Duration to) {
  return (length + to - Duration{1}) / to * to;
}

}  // namespace

Decision FirstPlanner::decide(TimePoint now, const FillView& view) {
  constexpr Duration floor{1'000'000};
  next_.reset();
  const std::optional<Bubble> bubble = open_bubble();
  if (!bubble || !bubble->forecast || bubble->forecast->low < floor) return {};
  const Forecast& forecast = *bubble->forecast;
  const std::uint32_t longest = view.candidates.count - 1;
  const TimePoint start = view.in_flight.slices == 0 ? now : std::max(now, view.in_flight.expected_end);
  const TimePoint end = start + view.candidates.alone[longest] + guard_;
  if (end > bubble->opened + std::min(forecast.median, forecast.low + guard_ / 2)) return {};
  if (view.in_flight.slices == 0 || end <= bubble->opened + forecast.low) return launch(*bubble, longest);
  next_ = view.in_flight.first_ends;
  return {};
}

Decision PipeFill::decide(TimePoint now, const FillView& view) {
  const std::optional<Bubble> bubble = open_bubble();
  if (!bubble || !lengths_.is_among_longest(*bubble, planned_bubbles)) return {};
  const auto planned = std::chrono::duration_cast<Duration>(part_ * *lengths_.mean(*bubble));
  const std::uint32_t longest = view.candidates.count - 1;
  const TimePoint start = view.in_flight.slices == 0 ? now : std::max(now, view.in_flight.expected_end);
  if (start + view.candidates.alone[longest] > bubble->opened + planned) return {};
  return launch(*bubble, longest);
}

Decision FreeRide::decide(TimePoint now, const FillView& view) {
  next_.reset();
  const std::optional<Bubble> bubble = open_bubble();
  if (!bubble || view.in_flight.slices != 0) return {};
  const std::optional<Duration> length = lengths_.least(*bubble);
  if (!length) return {};
  const TimePoint noticed{round_up(bubble->opened.time_since_epoch(), tick)};
  const TimePoint next = std::max(noticed, rested_);
  if (now < next) return next_ = next, Decision{};
  const auto needed = std::chrono::duration_cast<Duration>(reserve_ * view.candidates.alone[0]);
  if (bubble->opened + *length - now <= round_up(needed, tick)) return {};
  return launch(*bubble, 0);
}

Decision Gating::decide(TimePoint now, const FillView& view) {
  next_ = now + poll_;
  if (view.in_flight.slices != 0) return {};
  world_.ask(rank_, answers_);
  const bool is_idle = std::all_of(answers_.begin(), answers_.end(),
                                   [](const auto& answer) { return answer.second.says == StreamAnswer::dry; });
  if (!is_idle) return {};
  Decision decision;
  decision.launch = true;
  decision.candidate = view.candidates.count - 1;
  return decision;
}

Decision AlwaysOn::decide(TimePoint, const FillView& view) {
  Decision decision;
  decision.launch = true;
  decision.candidate = view.candidates.count - 1;
  return decision;
}

pipeline::Sharing Mps::sharing(double part) {
  const double kernel = std::min(part, 1 - 1 / (1 + published_slowdown));
  return {pipeline::Sharing::Kind::beside, 1 - kernel, kernel, part};
}

}  // namespace weft::model
