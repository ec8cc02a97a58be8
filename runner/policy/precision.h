// By how much the times that events have may be wrong: hooks tell them as they happen, words and streams are only
// looked at now and then.
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
  // `of_look`: of what was seen at the present look.
  void note(const Event& event, Duration of_look) {
    const Duration within = is_seen_at_a_look(event.kind) ? of_look : Duration{};
    if (event.time != latest_.time) before_ = std::exchange(latest_, {event.time, within});
    latest_.within = std::max(latest_.within, within);
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
