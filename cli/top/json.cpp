// See json.h.
#include "cli/top/json.h"

#include <nlohmann/json.hpp>

#include "cli/top/screen.h"
#include "trace/read/printable.h"

namespace weft::cli {
namespace {

using nlohmann::ordered_json;

template <class Value>
ordered_json or_null(bool known, const Value& value) {
  return known ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json part_json(const PartOfRun& part, bool idle_known) {
  return {{"window", part.window.count()},
          {"idle", or_null(idle_known, part.idle.count())},
          {"uncertain", part.uncertain.count()},
          {"filled", part.filled.count()},
          {"idle_share", or_null(idle_known, part.idle_share())},
          {"uncertain_share", or_null(idle_known, part.uncertain_share())},
          {"conversion", or_null(idle_known, part.conversion())}};
}

ordered_json recent_json(const LiveRank& rank) {
  ordered_json recent = part_json(rank.recent, rank.idle_known);
  const std::optional<Duration> mean = rank.mean_length();
  recent["iterations"] = rank.lengths.size();
  recent["iteration_mean"] = or_null(mean.has_value(), mean.value_or(Duration{}).count());
  ordered_json lengths = ordered_json::array();
  for (const Duration length : rank.lengths) lengths.push_back(length.count());
  recent["lengths"] = lengths;
  return recent;
}

ordered_json price_json(bool known, double estimate, double low, double high) {
  return {{"estimate", or_null(known, estimate)}, {"low", or_null(known, low)}, {"high", or_null(known, high)}};
}

ordered_json slowdown_json(const LiveNumbers& numbers) {
  if (numbers.slowdown_known == 0) return nullptr;
  ordered_json slowdown =
      price_json(numbers.knows_slowdown(), numbers.slowdown, numbers.slowdown_low, numbers.slowdown_high);
  slowdown["budget"] = numbers.slowdown_budget;
  slowdown["control"] = numbers.slowdown_control;
  slowdown["filled"] = numbers.slowdown_filled;
  slowdown["share"] = numbers.fill_share;
  return slowdown;
}

ordered_json waits_json(const LiveRank& rank) {
  if (rank.waits_for.name.empty()) return nullptr;
  return {{"name", rank.waits_for.name},
          {"rank", or_null(rank.waits_for.rank >= 0, rank.waits_for.rank)},
          {"share", rank.waits_for.share}};
}

ordered_json memory_json(const LiveNumbers& numbers) {
  if (numbers.memory_known == 0) return nullptr;
  return {{"cap", numbers.memory_cap},
          {"reserved", numbers.memory_reserved},
          {"used", numbers.memory_used},
          {"device_free", numbers.device_free},
          {"device_total", numbers.device_total}};
}

ordered_json causes_json(const LiveNumbers& numbers) {
  ordered_json causes = ordered_json::object();
  for (std::size_t cause = 0; cause < cause_names.size(); ++cause)
    if (numbers.idle_by_cause[cause] > 0) causes[cause_names[cause]] = numbers.idle_by_cause[cause];
  return causes;
}

ordered_json unfilled_json(const LiveNumbers& numbers) {
  ordered_json unfilled = ordered_json::object();
  for (std::size_t reason = 0; reason < unfilled_reasons; ++reason)
    unfilled[unfilled_names[reason]] = numbers.unfilled[reason];
  return unfilled;
}

void add_identity(ordered_json& result, const LiveRank& rank) {
  const LiveIdentity& identity = rank.page.identity;
  result["rank"] = identity.rank;
  result["ranks"] = identity.ranks;
  result["name"] = rank.name;
  result["device"] = identity.device;
  result["host"] = rank.host;
  result["process"] = identity.process;
  result["weft"] = printable(text_of(identity.weft));
  result["mode"] = rank.mode;
  result["presence"] = live_presence_names[static_cast<std::size_t>(rank.presence)];
  result["age"] = rank.age.count();
  result["process_is_known"] = rank.process_is_known;
  result["earlier_segments"] = identity.earlier_segments != 0;
  result["state"] = live_state_names[static_cast<std::size_t>(rank.state)];
  result["why"] = rank.why;
  result["idle_unknown"] = rank.idle_unknown;
}

void add_counts(ordered_json& result, const LiveNumbers& numbers) {
  result["iterations"] = numbers.iterations;
  result["bubbles"] = numbers.bubbles;
  result["slices"] = numbers.slices;
  result["fill_units"] = numbers.fill_units;
  result["fill_units_wrong"] = numbers.fill_units_wrong;
  result["dropped_records"] = numbers.dropped_records;
  result["dark"] = numbers.dark;
  result["idle_left_out"] = numbers.idle_left_out;
  result["moved"] = numbers.moved;
  result["unfilled"] = unfilled_json(numbers);
}

ordered_json rank_json(const LiveRank& rank) {
  const LiveNumbers& numbers = rank.numbers();
  ordered_json result;
  add_identity(result, rank);
  add_counts(result, numbers);
  result.update(part_json(rank.whole, rank.idle_known));
  result["window"] = numbers.window_end - numbers.window_begin;  // as in weft summary: with the dark time
  result["steady"] = rank.steady ? part_json(*rank.steady, rank.idle_known) : ordered_json(nullptr);
  result["recent"] = recent_json(rank);
  result["idle_by_cause"] = causes_json(numbers);
  result["waits_for"] = waits_json(rank);
  result["forecasts"] = numbers.forecasts;
  result["forecast_error"] = or_null(numbers.forecasts > 0, numbers.forecast_error);
  const double within = static_cast<double>(numbers.forecasts_within) /
                        static_cast<double>(std::max<std::uint64_t>(numbers.forecasts, 1));
  result["forecasts_within"] = or_null(numbers.forecasts > 0, within);
  result["slowdown"] = slowdown_json(numbers);
  result["watching"] = numbers.watching_known == 0
                           ? ordered_json(nullptr)
                           : price_json(true, numbers.watching, numbers.watching_low, numbers.watching_high);
  result["memory"] = memory_json(numbers);
  result["fill_jobs"] = rank.fill_jobs;
  result["anomalies"] = numbers.anomalies;
  result["anomaly"] = rank.anomaly;
  return result;
}

}  // namespace

std::string top_json(const LiveRun& run, const TopView& view) {
  ordered_json result;
  result["ranks_of_job"] = run.ranks_of_job();
  result["total"] = {{"steady", part_json(run.steady, run.steady.window > Duration{})},
                     {"recent", part_json(run.recent, run.recent.window > Duration{})}};
  result["ranks"] = ordered_json::array();
  for (const LiveRank* const rank : rows_of(run, view)) result["ranks"].push_back(rank_json(*rank));
  result["notes"] = top_notes(run);
  return result.dump() + "\n";
}

}  // namespace weft::cli
