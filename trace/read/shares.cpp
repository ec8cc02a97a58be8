// The shares of a rank's time: of the whole run, and of its steady state; see summary.h.
#include <algorithm>
#include <chrono>

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

double PartOfRun::conversion_of_filled_iterations() const {
  return share_of(filled, rest_of(idle, idle_left_out));
}

PartOfRun RankSummary::whole() const {
  return {rest_of(window, totals.dark), totals.idle, totals.uncertain, totals.filled, totals.idle_left_out};
}

std::optional<PartOfRun> RankSummary::steady() const {
  if (!totals.startup || totals.iterations == 0) return std::nullopt;
  const StartupRecord& startup = *totals.startup;
  // No iteration of start-up is dark.
  return PartOfRun{rest_of(rest_of(window, totals.dark), startup.length), rest_of(totals.idle, startup.idle),
                   rest_of(totals.uncertain, startup.uncertain), rest_of(totals.filled, startup.filled),
                   totals.idle_left_out};
}

// Behind WEFT_TRACE_LIMIT there are no records: then the median stands for each of the bubbles.
double RankSummary::lateness_share() const {
  const double by_median = static_cast<double>(totals.bubbles) * static_cast<double>(totals.end_uncertainty.count());
  return window > Duration{}
             ? std::max(by_median, static_cast<double>(idle_near_ends.count())) / static_cast<double>(window.count())
             : 0;
}

// A healthy thread looks every 50 us near bubbles (WEFT_POLL): many short bubbles are not known better by that, and
// nobody was late. A median alone hides the few long delays of a starved host.
bool RankSummary::was_late() const {
  constexpr double worth_saying = 0.005;
  constexpr Duration far_apart = std::chrono::microseconds(100);
  const double by_median = static_cast<double>(totals.bubbles) * static_cast<double>(totals.end_uncertainty.count());
  if (by_median > worth_saying * static_cast<double>(window.count())) return true;
  return end_uncertainty_high >= far_apart && lateness_share() > worth_saying;
}

}  // namespace weft
