// Uncertain time by its causes: which made the most of it, and which others a reader should know of.
//
// Used by Totals, one thread at a time. Fixed size: of more causes than there are places the rest counts as none.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "detector/time.h"
#include "trace/fixed_text.h"

namespace weft {

class UncertainCauses {
 public:
  void add(const RecordText& why, Duration length) {
    const auto nanoseconds = static_cast<double>(length.count());
    all_ += nanoseconds;
    for (Cause& cause : causes_) {
      if (cause.nanoseconds > 0 && cause.why != why) continue;
      if (cause.nanoseconds <= 0) cause.why = why;
      cause.nanoseconds += nanoseconds;
      return;
    }
  }

  // The cause of the most time in full, and behind it the names (all before the colon) of those of a twentieth and more
  // of it. "": there was none.
  RecordText text() const {
    const auto most = std::max_element(causes_.begin(), causes_.end(),
                                       [](const Cause& a, const Cause& b) { return a.nanoseconds < b.nanoseconds; });
    std::string text(most->why);
    const char* before = "; besides: ";
    for (auto cause = causes_.begin(); cause != causes_.end(); ++cause) {
      const double share = all_ > 0 ? cause->nanoseconds / all_ : 0;
      if (cause == most || share < 0.05) continue;
      const std::string_view why = cause->why;
      text += before + std::string(why.substr(0, why.find(':'))) + " (" +
              std::to_string(static_cast<int>(100 * share + 0.5)) + " % of it)";
      before = ", ";
    }
    return RecordText(std::string_view(text));
  }

 private:
  struct Cause {
    RecordText why;
    double nanoseconds = 0;  // 0: the place is free. Sums of a bad trace go beyond what an integer holds
  };
  std::array<Cause, 16> causes_{};
  double all_ = 0;
};

}  // namespace weft
