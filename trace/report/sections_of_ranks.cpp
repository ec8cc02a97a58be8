// The sections that show the run and its ranks: numbers, the timeline, idle time; see sections.h.
#include <algorithm>
#include <iterator>
#include <set>

#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/report/sections.h"
#include "trace/report/shown_numbers.h"
#include "trace/totals.h"

namespace weft::report {
namespace {

std::string percent(bool known, double share) {
  return known ? formatted("%.2f %%", 100 * share) : "unknown";
}

// Those of one row of a table.
void add_slowdown(DataTable& table, const std::optional<SlowdownRecord>& slowdown) {
  const bool known = slowdown && slowdown->is_known();
  const bool shorter = slowdown && slowdown->is_of_something_else();
  table.row({"slowdown", known ? formatted("%+.2f %%", 100 * slowdown->estimate) : "unknown",
             known     ? formatted("by filling, at most on any rank; %+.2f to %+.2f %%, budget %.3g %%",
                                   100 * slowdown->low, 100 * slowdown->high, 100 * slowdown->budget)
             : shorter ? "by filling; iterations with it were shorter, which is not its doing"
                       : "by filling"});
}

DataTable causes_table(const RankSummary& total, const std::vector<std::string>& causes) {
  DataTable table("causes");
  table.column("cause", format::words).column("% of the idle time", format::percent);
  Duration all{};
  for (const auto& [cause, idle] : total.idle_by_cause) add_to(all, idle);
  for (const std::string& cause : causes) table.row({cause, share_of(total.idle_by_cause.at(cause), all)});
  return table;
}

ordered_json rank_row(const ReportedRun& run, std::size_t trace, const std::vector<std::string>& causes) {
  const RankSummary& rank = run.rank(trace);
  const PartOfRun part = rank.shown();
  const TraceSummary& totals = rank.totals;
  const bool measured = is_measured(rank.header);
  const bool has_causes = measured && !(rank.complete && run.traces[trace].is_limited);  // of all of its window
  const bool fills = rank.header.mode != "observe" || totals.filled > Duration{};
  const bool compared = totals.slowdown && totals.slowdown->is_known();
  ordered_json row{rank.name + (rank.unsure ? "?" : ""),
                   printable(rank.header.host),
                   rank.header.device,
                   rank.stage ? ordered_json(rank.stage->stage) : nullptr,
                   totals.iterations,
                   totals.iterations > 0 ? ordered_json(totals.iteration_median.count()) : nullptr,
                   known_share(measured, part.idle_share()),
                   known_share(measured, part.uncertain_share()),
                   known_share(measured && fills, part.conversion()),
                   known_share(rank.forecast_error.has_value(), rank.forecast_error.value_or(0)),
                   rank.complete ? ordered_json(totals.dropped_records) : nullptr,
                   known_share(compared, compared ? totals.slowdown->estimate : 0)};
  for (const std::string& cause : causes) {
    const auto idle = rank.idle_by_cause.find(cause);
    const Duration time = idle == rank.idle_by_cause.end() ? Duration{} : idle->second;
    row.push_back(has_causes ? share_of(time, rank.whole().window) : nullptr);
  }
  return row;
}

}  // namespace

std::vector<std::string> causes_of(const RunSummary& run) {
  std::vector<std::string> causes;
  for (const char* cause : cause_names)
    if (run.total.idle_by_cause.contains(cause)) causes.emplace_back(cause);
  return causes;
}

std::string first_part_text(const ReportedRun& run) {
  return run.has_first_part_only() ? " Of bubbles and iterations the traces hold only the first part of the run." : "";
}

std::string left_out_text(std::size_t count, const char* text) {
  return count == 0 ? "" : formatted("; %zu ", count) + text;
}

std::string label_of(const ReportedRun& run, std::size_t trace) {
  const RankSummary& rank = run.rank(trace);
  return (rank.stage ? formatted("stage %d · rank ", rank.stage->stage) : "rank ") + rank.name;
}

ordered_json headline_section(const Report& report) {
  const ReportedRun& run = *report.run;
  const RankSummary& total = run.summary().total;
  const PartOfRun part = total.shown();
  const bool measured = is_measured(total.header);
  std::int64_t expected = 0;
  std::set<std::int64_t> ranks;
  for (const RankSummary& rank : run.summary().ranks) {
    ranks.insert(rank.header.rank);
    if (!rank.unsure) expected = std::max<std::int64_t>(expected, rank.header.ranks);
  }
  DataTable numbers("numbers");
  numbers.column("number", format::words).column("value", format::words).column("of", format::words);
  numbers.row(
      {"idle", percent(measured, part.idle_share()), total.steady() ? "of the time after start-up" : "of the time"});
  numbers.row({"uncertain", percent(measured, part.uncertain_share()), "of the time: nobody could tell"});
  if (report.gain.is_filled)
    numbers.row({"filled", percent(measured, report.gain.conversion), "of the idle time"});
  else
    numbers.row({"filled", "nothing", "in this run"});
  add_slowdown(numbers, total.totals.slowdown);
  numbers.row(
      {"iteration",
       total.totals.iterations > 0 ? formatted("%.3f ms", milliseconds(total.totals.iteration_median)) : "unknown",
       formatted("median of %llu", number(total.totals.iterations))});
  numbers.row(
      {"dropped", total.complete ? formatted("%llu", number(total.totals.dropped_records)) : "unknown", "records"});
  numbers.row(
      {"ranks",
       formatted("%zu of %lld", ranks.size(),
                 static_cast<long long>(std::max<std::int64_t>(expected, static_cast<std::int64_t>(ranks.size())))),
       "left a trace here"});
  ordered_json section{{"id", "headline"}, {"title", "The run"}, {"table", std::move(numbers).json()}};
  if (DataTable causes = causes_table(total, causes_of(run.summary())); causes.size() > 0)
    section["causes"] = {
        {"title", run.has_first_part_only() ? "Idle time by cause (first part of the run, which the traces hold)"
                                            : "Idle time by cause (whole run)"},
        {"table", std::move(causes).json()}};
  return section;
}

ordered_json timeline_section(const Report& report) {
  const Timeline& timeline = report.timeline;
  ordered_json section{{"id", "timeline"}, {"title", "One iteration, all stages"}};
  if (!timeline.missing.empty()) {
    section["missing"] = timeline.missing;
    return section;
  }
  std::vector<std::string> labels, kinds(std::begin(cause_names), std::end(cause_names));
  kinds.insert(kinds.end(), {"uncertain", "dark", "fill"});
  ordered_json rows = ordered_json::array();
  for (const TimelineRow& row : timeline.rows) {
    labels.push_back(label_of(*report.run, row.trace) + (row.why.empty() ? "" : " · " + row.why));
    rows.push_back({labels.back(), row.begin.count(), row.end.count()});
  }
  DataTable table("timeline");
  table.labels("rank", labels).labels("kind", kinds).column("begin, ms", format::time).column("end, ms", format::time);
  table.labels("waits for", timeline.names).labels("of", labels).column("sent at, ms", format::time);
  table.labels("ended by", {"its message", "other work", "its message; when that was sent is not known"});
  for (std::size_t at = 0; at < timeline.rows.size(); ++at)
    for (const TimelinePart& part : timeline.rows[at].parts)
      table.row({at, part.kind, part.begin.count(), part.end.count(),
                 part.kind < cause_names.size() ? ordered_json(part.name) : nullptr,
                 part.from ? ordered_json(*part.from) : nullptr, part.sent ? ordered_json(part.sent->count()) : nullptr,
                 part.ended ? ordered_json(*part.ended) : nullptr});
  section["caption"] =
      formatted("Iteration %llu, %.3f ms", number(timeline.iteration.number), milliseconds(timeline.length)) +
      (timeline.is_median ? ", of median length" : "") +
      ", from the first rank that begins it to the last that ends it; each row is a rank" +
      left_out_text(timeline.ranks_left_out, "ranks are not shown") +
      ". A bubble that is pointed at, or chosen with the arrow keys, shows by an arrow which rank it waited for, from "
      "the moment at which that one began to send.";
  section["rows"] = std::move(rows);
  section["length"] = timeline.length.count();
  section["notes"] = timeline.notes;
  section["table"] = std::move(table).json();
  return section;
}

ordered_json ranks_section(const Report& report) {
  const ReportedRun& run = *report.run;
  const std::vector<std::string> causes = causes_of(run.summary());
  DataTable table("ranks");
  for (const char* head : {"rank", "host"}) table.column(head, format::words);
  for (const char* head : {"GPU", "stage", "iterations"}) table.column(head, format::number);
  table.column("median ms/it", format::time);
  for (const char* head : {"idle %", "uncertain %", "filled, % of idle", "forecast err. %"})
    table.column(head, format::percent);
  table.column("dropped", format::number).column("slowdown %", format::signed_percent);
  for (const std::string& cause : causes) table.column(cause + " %", format::percent);
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) table.row(rank_row(run, trace, causes));
  return {
      {"id", "ranks"},
      {"title", "Idle time of all ranks, by cause"},
      {"caption", std::string("How much of its time each rank waits") +
                      (run.summary().total.steady() ? ", after start-up; the single causes are of the whole run" : "") +
                      (run.has_first_part_only() ? ", and not known where a trace holds only its first part" : "") +
                      ". A rank that waits less than those beside it is slower than they are, or has more to do."},
      {"causes", causes},
      {"table", std::move(table).json()}};
}

}  // namespace weft::report
