// By how much the times of findings may be wrong. Words and streams are only looked at now and then; and where the call
// of a hook decides, it does so beside what was seen at the look before.
//
// Used by the session, on the dispatcher thread, with each event in order. It remembers the latest two times: a finding
// is about one of them.
#pragma once

#include <algorithm>
#include <utility>

#include "detector/event.h"

namespace weft {

class Precision {
 public:
  // `of_look`: of what was seen at the present look. Time does not go back for a word that is seen after a later call.
  void note(const Event& event, Duration of_look) {
    const TimePoint time = std::max(event.time, latest_.time);
    if (time != latest_.time) before_ = std::exchange(latest_, {time, of_look});
    latest_.within = std::max(latest_.within, of_look);
  }

  // The true time is not farther away. Zero for a time that is none of the latest two.
  Duration of(TimePoint time) const {
    if (time == latest_.time) return latest_.within;
    return time == before_.time ? before_.within : Duration{};
  }

 private:
  struct Known {
    TimePoint time{};
    Duration within{};
  };
  Known latest_, before_;
};

}  // namespace weft
