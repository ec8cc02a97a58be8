// The shares of a rank's time: of the whole run, and of its steady state; see summary.h.
#include <algorithm>

#include "trace/read/summary.h"

namespace weft {
namespace {

double share_of(Duration part, Duration whole) {
  return whole > Duration{} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0.0;
}

Duration rest_of(Duration whole, Duration part) {
  return std::max(whole - part, Duration{});
}

}  // namespace

double PartOfRun::idle_share() const {
  return share_of(idle, window);
}

double PartOfRun::uncertain_share() const {
  return share_of(uncertain, window);
}

double PartOfRun::conversion() const {
  return share_of(filled, idle);
}

PartOfRun RankSummary::whole() const {
  return {window, totals.idle, totals.uncertain, totals.filled};
}

std::optional<PartOfRun> RankSummary::steady() const {
  if (!totals.startup || totals.iterations == 0) return std::nullopt;
  const StartupRecord& startup = *totals.startup;
  return PartOfRun{rest_of(window, startup.length), rest_of(totals.idle, startup.idle),
                   rest_of(totals.uncertain, startup.uncertain), rest_of(totals.filled, startup.filled)};
}

// As if all beginnings and ends were wrong in the same direction, by the median.
double RankSummary::lateness_share() const {
  if (window <= Duration{}) return 0;
  return static_cast<double>(totals.bubbles) * static_cast<double>(totals.end_uncertainty.count()) /
         static_cast<double>(window.count());
}

}  // namespace weft
