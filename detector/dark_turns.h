// Which iterations go dark: the answers of the schedule of DetectorOptions, a pure function, kept for the latest turns.
//
// Used by the detector, one thread, at every event and every look: for the turn of the iteration that runs, and for
// that of the one which the host issues.
#pragma once

#include <array>
#include <cstdint>

namespace weft {

class DarkTurns {
 public:
  using Schedule = bool (*)(std::uint64_t turn);

  explicit DarkTurns(Schedule schedule) : schedule_(schedule) {}  // nullptr: none
  bool has_any() const { return schedule_ != nullptr; }
  void take_all() {
    *this = DarkTurns([](std::uint64_t) { return true; });
  }
  // Not of turn 0, which is not known.
  bool has(std::uint64_t turn) const {
    if (!has_any() || turn == 0) return false;
    Answer& answer = answers_[turn % answers_.size()];
    if (answer.turn != turn) answer = {turn, schedule_(turn)};
    return answer.is_dark;
  }

 private:
  struct Answer {
    std::uint64_t turn = 0;
    bool is_dark = false;
  };
  Schedule schedule_;
  mutable std::array<Answer, 4> answers_{};
};

}  // namespace weft
