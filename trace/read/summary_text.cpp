// A run's summary as a table for people and as JSON for programs.
#include <algorithm>
#include <set>
#include <tuple>

#include "trace/formatted.h"
#include "trace/read/line_values.h"
#include "trace/read/printable.h"
#include "trace/read/summary.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

double milliseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

std::string percent_or_dash(bool known, double share) {
  return known ? formatted("%.1f", 100 * share) : "-";
}

// Behind a name that may be longer than a line of formatted().
std::string row(std::size_t width, const std::string& name, const RankSummary& rank) {
  const bool measured = rank.idle_unknown.empty();
  const std::string conversion = percent_or_dash(rank.mode != "observe" || rank.filled > Duration{}, rank.conversion());
  const bool compared = rank.slowdown && rank.slowdown->control != 0;
  return std::string(width - std::min(width, name.size()), ' ') + name +
         formatted(" %10llu %13.3f %8s %12s %7llu %7llu %9llu %15s %11s\n", number(rank.iterations),
                   milliseconds(rank.iteration_median),
                   (measured ? formatted("%.2f", 100 * rank.idle_share()) : "unknown").c_str(),
                   (measured ? conversion : "unknown").c_str(), number(rank.fill_units), number(rank.fill_units_wrong),
                   number(rank.dropped_records),
                   percent_or_dash(rank.forecast_error.has_value(), rank.forecast_error.value_or(0)).c_str(),
                   compared ? formatted("%+.2f", 100 * rank.slowdown->estimate).c_str() : "-");
}

std::string causes(const RankSummary& total) {
  Duration all{};
  for (const auto& [cause, idle] : total.idle_by_cause) add_to(all, idle);
  if (all <= Duration{}) return "";
  std::string line = "idle by cause:";
  const char* separator = " ";
  for (const auto& [cause, idle] : total.idle_by_cause) {
    line += separator + printable(cause) + formatted(" %.1f %%", 100 * milliseconds(idle) / milliseconds(all));
    separator = ", ";
  }
  return line + "\n";
}

std::string slowdown_line(const RankSummary& total) {
  if (!total.slowdown) return "";
  const SlowdownSummary& slowdown = *total.slowdown;
  if (slowdown.control == 0) return "slowdown: not known, too few iterations without fill to compare with\n";
  return formatted("slowdown: at most %+.2f %% on any rank (95 %% interval %+.2f to %+.2f %%), budget %.3g %%\n",
                   100 * slowdown.estimate, 100 * slowdown.low, 100 * slowdown.high, 100 * slowdown.budget);
}

std::string peers(const SlotSummary& slot) {
  std::string line;
  if (slot.receive_peer >= 0) line += formatted(" from %lld", static_cast<long long>(slot.receive_peer));
  if (slot.send_peer >= 0) line += formatted(" to %lld", static_cast<long long>(slot.send_peer));
  return line;
}

std::string slot_name(const SlotSummary& slot) {
  if (slot.ordinal < 0) return "before the rhythm was known";
  return formatted("slot %lld", static_cast<long long>(slot.ordinal));
}

std::string slot_line(const SlotSummary& slot, Duration all) {
  const double share = all > Duration{} ? milliseconds(slot.idle) / milliseconds(all) : 0;
  return "  rank " + slot.name + " " + slot_name(slot) + ": " + printable(slot.cause) + peers(slot) +
         formatted(", %llu bytes; %llu bubble%s, median %.3f ms, %.1f %% of the idle time\n", number(slot.bytes),
                   number(slot.bubbles), slot.bubbles == 1 ? "" : "s", milliseconds(slot.median), 100 * share);
}

ordered_json to_json(const std::optional<SlowdownSummary>& slowdown) {
  if (!slowdown) return nullptr;
  ordered_json result{{"estimate", nullptr},
                      {"low", nullptr},
                      {"high", nullptr},
                      {"control", slowdown->control},
                      {"filled", slowdown->filled},
                      {"budget", slowdown->budget},
                      {"share", slowdown->share}};
  if (slowdown->control == 0) return result;
  result["estimate"] = slowdown->estimate;
  result["low"] = slowdown->low;
  result["high"] = slowdown->high;
  return result;
}

ordered_json numbers(const RankSummary& rank) {
  ordered_json causes_of_idle = ordered_json::object();
  for (const auto& [cause, idle] : rank.idle_by_cause) causes_of_idle[cause] = idle.count();
  ordered_json result{{"iterations", rank.iterations},
                      {"iteration_median", rank.iteration_median.count()},
                      {"window", rank.window.count()},
                      {"bubbles", rank.bubbles},
                      {"idle", rank.idle.count()},
                      {"idle_unknown", rank.idle_unknown},
                      {"idle_share", rank.idle_share()},
                      {"idle_by_cause", causes_of_idle},
                      {"filled", rank.filled.count()},
                      {"conversion", rank.conversion()},
                      {"slices", rank.slices},
                      {"fill_units", rank.fill_units},
                      {"fill_units_wrong", rank.fill_units_wrong},
                      {"unfilled", rank.unfilled},
                      {"dropped_records", rank.dropped_records},
                      {"records_left_out", rank.records_left_out},
                      {"forecasts", rank.forecasts},
                      {"forecast_error", nullptr},
                      {"slowdown", to_json(rank.slowdown)},
                      {"complete", rank.complete},
                      {"unsure", rank.unsure},
                      {"filling_stopped", rank.filling_stopped},
                      {"reason", rank.reason}};
  if (!rank.idle_unknown.empty()) result["idle"] = result["idle_share"] = result["conversion"] = nullptr;
  if (rank.forecast_error) result["forecast_error"] = *rank.forecast_error;
  return result;
}

ordered_json to_json(const SlotSummary& slot) {
  return {{"rank", slot.rank},           {"process", slot.process},
          {"ordinal", slot.ordinal},     {"cause", slot.cause},
          {"send_peer", slot.send_peer}, {"receive_peer", slot.receive_peer},
          {"bytes", slot.bytes},         {"bubbles", slot.bubbles},
          {"idle", slot.idle.count()},   {"median", slot.median.count()}};
}

// What the slots are a share of: beyond WEFT_TRACE_LIMIT there are no records of bubbles, but the total goes on.
Duration idle_of_slots(const RankSummary& rank) {
  if (rank.records_left_out == 0) return rank.idle;
  Duration idle{};
  for (const SlotSummary& slot : rank.slots) add_to(idle, slot.idle);
  return idle;
}

// How many ranks, and what else there is to tell apart.
std::string size_of(const RunSummary& run) {
  std::set<std::int64_t> ranks;
  std::set<std::tuple<std::int64_t, std::string, std::int64_t>> processes;
  for (const RankSummary& rank : run.ranks) {
    ranks.insert(rank.rank);
    processes.emplace(rank.rank, rank.host, rank.process);
  }
  std::string line = formatted("%zu ranks", ranks.size());
  if (processes.size() != ranks.size()) line += formatted(", %zu processes (rank (process))", processes.size());
  if (run.ranks.size() != processes.size()) line += formatted(", %zu devices (rank/device)", run.ranks.size());
  return line;
}

// "0", or "0?" where its numbers cannot be trusted.
std::string shown_name(const RankSummary& rank) {
  return rank.name + (rank.unsure ? "?" : "");
}

// Without those that are unsure.
std::string total_row(const RunSummary& run, std::size_t width) {
  if (std::ranges::all_of(run.ranks, &RankSummary::unsure)) return "";
  RankSummary total = run.total;
  total.mode = run.ranks.front().mode;
  return row(width, "all", total);
}

}  // namespace

std::string to_text(const RunSummary& run, const std::string& place) {
  std::string result = printable(place) + ": " + size_of(run);
  std::size_t width = 4;
  for (const RankSummary& rank : run.ranks) width = std::max(width, shown_name(rank).size());
  const RankSummary& first = run.ranks.front();
  result += first.fill_job.empty() ? ", mode " + printable(first.mode) : ", filled with " + printable(first.fill_job);
  result +=
      "\n\n" + std::string(width - 4, ' ') +
      "rank iterations median ms/it   idle % conversion %   units   wrong   dropped forecast err. %  slowdown %\n";
  for (const RankSummary& rank : run.ranks) result += row(width, shown_name(rank), rank);
  result += total_row(run, width) + "\n" + causes(run.total) + slowdown_line(run.total);
  if (!run.longest.empty()) result += "most idle time:\n";
  Duration all{};
  for (const RankSummary& rank : run.ranks)
    if (!rank.unsure) add_to(all, idle_of_slots(rank));
  for (const SlotSummary& slot : run.longest) result += slot_line(slot, all);
  for (const std::string& note : run.notes) result += "note: " + note + "\n";
  return result;
}

std::string to_json(const RunSummary& run) {
  ordered_json ranks = ordered_json::array(), slots = ordered_json::array();
  for (const RankSummary& rank : run.ranks) {
    ordered_json entry{{"rank", rank.rank},        {"ranks", rank.ranks},     {"device", rank.device},
                       {"host", rank.host},        {"process", rank.process}, {"mode", rank.mode},
                       {"fill_job", rank.fill_job}};
    entry.update(numbers(rank));
    ranks.push_back(std::move(entry));
  }
  for (const SlotSummary& slot : run.longest) slots.push_back(to_json(slot));
  const ordered_json result{
      {"ranks", ranks}, {"total", numbers(run.total)}, {"most_idle_slots", slots}, {"notes", run.notes}};
  // ASCII only: then control characters beyond it are escaped, too.
  return result.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weft
