// The sections that judge the run: forecasts, filling and its price, what other shapes would change; see sections.h.
#include "trace/formatted.h"
#include "trace/report/sections.h"
#include "trace/report/shown_numbers.h"

namespace weft::report {
namespace {

constexpr const char* too_few_iterations = "there are too few iterations";

// Of each iteration that is kept.
DataTable series_table(const Report& report) {
  DataTable table("iterations");
  table.column("iteration", format::number).column("since the begin, ms", format::time);
  table.column("length, ms", format::time).column("idle %", format::percent);
  table.column("filled %", format::percent).column("filled, % of idle", format::percent);
  table.column("without fill, to compare", format::number);
  table.column("within forecast %", format::percent).column("forecast err. %", format::percent);
  for (const SeriesPoint& point : report.series)
    table.row({point.key.number, point.since_begin.count(), point.length.count(), share_of(point.idle, point.time),
               share_of(point.filled, point.time), share_of(point.filled, point.idle), point.left_out ? 1 : 0,
               share_of(static_cast<double>(point.within), static_cast<double>(point.forecasts)),
               share_of(point.forecast_error, point.forecast_length)});
  return table;
}

std::string calibration_caption(const Calibration& forecasts) {
  const auto of = [&](std::uint64_t part) {
    return 100 * static_cast<double>(part) / static_cast<double>(forecasts.count());
  };
  std::string text = formatted("Of %llu bubbles %.1f %% ended within their forecast (80 %% should), ",
                               number(forecasts.count()), of(forecasts.within)) +
                     formatted("%.1f %% earlier and %.1f %% later. ", of(forecasts.below), of(forecasts.above));
  return text + formatted("The medians of the forecasts were off by %.1f %% of the time that bubbles took.",
                          100 * static_cast<double>(forecasts.error.count()) /
                              static_cast<double>(std::max(forecasts.length, Duration(1)).count()));
}

ordered_json slowdown_plot(const Report& report) {
  if (!report.slowest_by_fill)
    return {{"missing", report.gain.is_filled
                            ? "the price of filling is not known: too few iterations without fill to compare with"
                            : "nothing was filled in this run"}};
  const ReportedTrace& trace = report.run->traces[*report.slowest_by_fill];
  DataTable table("slowdown");
  table.column("since the begin, ms", format::time);
  for (const char* head : {"slowdown %", "low %", "high %"}) table.column(head, format::signed_percent);
  for (const SlowdownPoint& point : trace.series.slowdowns())
    table.row({(point.time - trace.header.started).count(), share(point.slowdown.estimate), share(point.slowdown.low),
               share(point.slowdown.high)});
  const SlowdownRecord& last = *report.run->rank(*report.slowest_by_fill).totals.slowdown;
  table.row({report.run->rank(*report.slowest_by_fill).window.count(), share(last.estimate), share(last.low),
             share(last.high)});
  return {{"title", "Slowdown by filling on " + label_of(*report.run, *report.slowest_by_fill)},
          {"budget", share(last.budget)},
          {"table", std::move(table).json()}};
}

ordered_json theory_plot(const WhatIf& what_if) {
  ordered_json plot{{"title", "Microbatches and virtual stages"}};
  if (!what_if.missing.empty()) {
    plot["missing"] = what_if.missing;
    return plot;
  }
  DataTable table("theory");
  table.column("microbatches", format::number).column("chunks on each rank", format::number);
  table.column("idle % by theory", format::percent).column("measured %", format::percent);
  for (std::size_t at = 0; at < what_if.shapes.size(); ++at) {
    const OtherShape& shape = what_if.shapes[at];
    table.row({shape.microbatches, shape.chunks, share(shape.bubble),
               known_share(at == 0 && what_if.measured, what_if.measured.value_or(0))});
  }
  plot["caption"] =
      formatted("By theory a rank of %d equal stages is idle for (p - 1) / (", what_if.stages) +
      (what_if.chunks > 1 ? "v " : "") +
      formatted("m + p - 1) = %.2f %% of an iteration with %d microbatches", 100 * what_if.theory,
                what_if.microbatches) +
      (what_if.chunks > 1 ? formatted(" and %d chunks on each", what_if.chunks) : "") +
      (what_if.measured ? formatted("; measured are %.2f %%, with all that theory leaves out", 100 * *what_if.measured)
                        : "") +
      ".";
  plot["table"] = std::move(table).json();
  return plot;
}

ordered_json stages_plot(const Report& report) {
  const WhatIf& what_if = report.what_if;
  ordered_json plot{{"title", "Faster stages"}};
  if (const std::string& why = what_if.missing.empty() ? what_if.stages_missing : what_if.missing; !why.empty()) {
    plot["missing"] = why;
    return plot;
  }
  DataTable table("stages");
  table.column("if", format::words)
      .column("iteration, ms", format::time)
      .column("against theory %", format::signed_percent);
  const auto add = [&](const char* name, double time) {
    table.row({name, std::llround(time), share(time / what_if.iteration - 1)});
  };
  add("as it is, by theory", what_if.iteration);
  if (what_if.like_the_next_one) add("the longest stage were like the next one", *what_if.like_the_next_one);
  add("the same work were spread evenly", what_if.even);
  const std::string compared = compared_text(report.frontier);
  plot["caption"] = "Theory takes the stages' work" + (compared.empty() ? "" : ", " + compared + ",") +
                    formatted(" and makes an iteration of %.1f ms; measured are %.1f ms.",
                              milliseconds(what_if.iteration), milliseconds(report.frontier.length));
  plot["table"] = std::move(table).json();
  return plot;
}

ordered_json gain_plot(const Report& report) {
  ordered_json plot{{"title", "Fill work"}};
  const FillEstimate& estimate = report.estimate;
  DataTable table("fill-work");
  table.column("of all ranks", format::words).column("% of the idle time", format::percent);
  table.column("GPU hours in a day", format::number).column("of", format::number);
  const std::size_t of = 24 * report.gain.ranks;
  const auto hours = [](double exact) { return std::round(10 * exact) / 10; };
  if (report.gain.is_filled) {
    table.row({"as it was filled", share(report.gain.conversion), hours(report.gain.hours_per_day), of});
    plot["caption"] = "Fill work that this run got, for a day that is like it.";
  } else if (!estimate.missing.empty()) {
    plot["missing"] = "an estimate of filling: " + estimate.missing;
    return plot;
  } else {
    table.row({"estimated for " + estimate.job, share(estimate.conversion), hours(estimate.hours_per_day), of});
    plot["caption"] =
        formatted("Made from %s bubbles of %zu ranks by the rules of a real run, with a slowdown budget of ",
                  estimate.has_all_bubbles ? "the" : "part of the", estimate.ranks) +
        estimate.budget +
        formatted("; at most %.2f %% would be lost to late slices. weft estimate takes other jobs.",
                  100 * estimate.most_delay);
    plot["notes"] = estimate.notes;
  }
  plot["table"] = std::move(table).json();
  return plot;
}

}  // namespace

ordered_json forecasts_section(const Report& report) {
  const Calibration& forecasts = report.forecasts;
  ordered_json section{{"id", "forecasts"}, {"title", "Forecasts"}};
  if (forecasts.count() == 0) {
    section["missing"] = "no bubble had a forecast";
    return section;
  }
  section["caption"] = calibration_caption(forecasts) + first_part_text(*report.run);
  DataTable table("forecasts");
  table.column("real length over forecast", format::words).column("bubbles", format::number);
  const auto edge = [](std::size_t bin) {
    return std::exp2((static_cast<double>(bin) - Calibration::bins / 2.0) / Calibration::bins_of_doubling);
  };
  for (std::size_t bin = 0; bin < Calibration::bins; ++bin)
    table.row({bin == 0                       ? formatted("below %.2f", edge(1))
               : bin + 1 == Calibration::bins ? formatted("above %.2f", edge(bin))
                                              : formatted("%.2f to %.2f", edge(bin), edge(bin + 1)),
               forecasts.ratios[bin]});
  section["ratios"] = {{"title", "Real length over the forecast's median"}, {"table", std::move(table).json()}};
  if (report.series.size() < 2) section["few"] = too_few_iterations;
  return section;
}

ordered_json filling_section(const Report& report) {
  ordered_json section{{"id", "filling"}, {"title", "Filling and its price, over the run"}};
  if (report.series.size() < 2) {
    section["missing"] = too_few_iterations;
    return section;
  }
  section["caption"] =
      std::string(
          "How much of each iteration is idle and how much of that is filled (iterations without fill are there to "
          "compare "
          "with), and by how much longer iterations became, as it was known at that time, with its 95 % interval.") +
      first_part_text(*report.run);
  section["is_filled"] = report.gain.is_filled;
  section["table"] = series_table(report).json();
  section["slowdown"] = slowdown_plot(report);
  return section;
}

ordered_json what_if_section(const Report& report) {
  return {{"id", "whatif"},
          {"title", "Theory, and other shapes of the run"},
          {"plots", {theory_plot(report.what_if), stages_plot(report), gain_plot(report)}}};
}

}  // namespace weft::report
