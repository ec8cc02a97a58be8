// The detector's part that does not look: dark iterations, which show what watching costs. Called by detector.cpp after
// each event. In a dark iteration only its last group has a marker, so nothing is known of the GPU until that is over;
// its time is reported as dark, and neither idle nor uncertain.
#include <utility>

#include "detector/implementation.h"

namespace weft {

// By how the iteration before ended it is known how this one will: without that nobody would see its end.
bool Detector::Implementation::goes_dark(std::uint64_t turn) const {
  return dark_turns_.has(turn) && iterations_.sure() && iterations_.length() != 0;
}

std::optional<std::uint64_t> Detector::Implementation::marks_only() const {
  if (!dark_turns_.has_any()) return std::nullopt;
  const Ahead ahead = iterations_.ahead();
  return ahead.ends_with != 0 && goes_dark(ahead.turn) ? std::optional(ahead.ends_with) : std::nullopt;
}

void Detector::Implementation::look_at_dark() {
  const bool dark = goes_dark(iterations_.running_turn()) && iterations_.ahead().ends_with != 0;
  if (dark == is_dark()) return;
  dark ? begin_dark() : end_dark();
}

void Detector::Implementation::begin_dark() {
  if (open_) close(Closing::cut_off);
  if (uncertain_since_ && now_ != *uncertain_since_) report_uncertainty({*uncertain_since_, now_, uncertain_why_});
  uncertain_since_.reset();
  uncertain_why_ = nullptr;
  dark_since_ = now_;
  iterations_.set_dark(true);
  streams_.suspend_verdicts();
}

// Each dark iteration by itself: that it goes on for long is no reason not to tell of it.
void Detector::Implementation::report_dark() {
  const DarkTime dark{std::exchange(*dark_since_, now_), now_};
  if (dark.ended == dark.began) return;
  report(FindingKind::dark_time);
  findings_.back().dark = dark;
}

void Detector::Implementation::end_dark() {
  report_dark();
  dark_since_.reset();
  iterations_.set_dark(false);
}

}  // namespace weft
