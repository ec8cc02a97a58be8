// A run's validation as text for people and as JSON; see run_validation.h.
#include <nlohmann/json.hpp>

#include "trace/formatted.h"
#include "trace/validate/run_validation.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

std::string percent(const std::optional<double>& share) {
  return share ? formatted("%.2f", 100 * *share) : "-";
}

double microseconds(std::int64_t time) {
  return static_cast<double>(time) / 1e3;
}

double milliseconds(std::int64_t time) {
  return static_cast<double>(time) / 1e6;
}

std::string row(const RankValidation& rank) {
  const Comparison& c = rank.comparison;
  return formatted("%4s %7.2f %7.2f %10s %11s %11.2f %12.2f %12.2f %8llu %6llu %6llu %6llu\n", rank.name.c_str(),
                   100 * c.share(c.reported), 100 * c.share(c.truth), percent(c.coverage).c_str(),
                   percent(c.precision).c_str(), 100 * c.share(c.uncertain), 100 * c.share(c.beside_compute),
                   100 * c.share(c.beside_nothing), number(c.bubbles), number(c.true_bubbles), number(c.missed_bubbles),
                   number(c.false_bubbles));
}

std::string ends(const char* which, const EndErrors& errors) {
  return formatted("%s median %+.1f us, p99 %.1f us, latest %+.1f us", which, microseconds(errors.median),
                   microseconds(errors.p99), microseconds(errors.latest));
}

std::string largest(const char* what, const Spans& spans) {
  if (spans.empty()) return "";
  std::string line = formatted("  largest %s:", what);
  for (const Span& span : spans)
    line += formatted(" %.3f ms at %lld;", milliseconds(span.length()), static_cast<long long>(span.begin));
  line.back() = '\n';
  return line;
}

std::string details(const RankValidation& rank) {
  const Comparison& c = rank.comparison;
  std::string text = "rank " + rank.name + ": ";
  if (c.opens.samples == 0)
    text += "no end of a bubble could be compared\n";
  else
    text += ends("begins", c.opens) + "; " + ends("ends", c.closes) +
            formatted("; clocks within %.1f us\n", microseconds(rank.clock_uncertainty));
  if (c.said_bubbles > 0)
    text += formatted(
        "  said by the program: %llu bubbles, %.2f %% of the window, and the training computed in %.2f %% of that; "
        "they are compared apart\n",
        number(c.said_bubbles), 100 * c.share(c.said),
        c.said > 0 ? 100 * static_cast<double>(c.said_beside_compute) / static_cast<double>(c.said) : 0.0);
  if (c.slices > 0 || c.fill_records > 0)
    text += formatted(
        "  fill: %.1f ms reported (alone), %.1f ms true; %.1f ms of it in idle time, %.1f ms beside compute\n",
        milliseconds(c.fill_alone), milliseconds(c.fill_busy), milliseconds(c.fill_in_idle),
        milliseconds(c.fill_beside_compute));
  text += formatted("  of 1 ms and longer: %llu true bubbles, %llu missed, %llu false\n", number(c.long_true),
                    number(c.long_missed), number(c.long_false));
  text += largest("missed", c.largest_missed) + largest("false", c.largest_false);
  return text;
}

std::string verdict(const RunValidation& run) {
  const std::string bounds = formatted("%.3g %% right, or less than %.3g %% of the window wrong",
                                       100 * run.bounds.least, 100 * run.bounds.forgiven);
  if (run.agrees() && run.ranks.size() == 1) return "verdict: the rank keeps the bounds (" + bounds + ")\n";
  if (run.agrees()) return formatted("verdict: all %zu ranks keep the bounds (", run.ranks.size()) + bounds + ")\n";
  if (run.compared() == 0) return "verdict: none, nothing was compared\n";
  std::string text = run.differs() ? "verdict: not all ranks keep the bounds (" + bounds + ")\n"
                                   : "verdict: none, nothing can be said of some ranks\n";
  for (const RankValidation& rank : run.ranks) {
    if (!rank.nothing.empty()) text += "  rank " + rank.name + ": nothing was compared\n";
    for (const std::string& fault : rank.faults) text += "  rank " + rank.name + ": " + fault + "\n";
    if (!rank.likely_cause.empty()) text += "  rank " + rank.name + ": a likely cause: " + rank.likely_cause + "\n";
    for (const std::string& doubt : rank.doubts)
      text += "  rank " + rank.name + ": nothing can be said: " + doubt + "\n";
  }
  return text;
}

ordered_json share(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json spans(const Spans& all) {
  ordered_json result = ordered_json::array();
  for (const Span& span : all) result.push_back({span.begin, span.end});
  return result;
}

ordered_json errors(const EndErrors& ends) {
  return {{"samples", ends.samples}, {"median", ends.median}, {"p99", ends.p99}, {"latest", ends.latest}};
}

ordered_json comparison(const Comparison& c) {
  return {{"window", c.window},
          {"trace_window", c.trace_window},
          {"idle", c.reported},
          {"idle_true", c.truth},
          {"idle_error", c.share(c.reported) - c.share(c.truth)},
          {"coverage", share(c.coverage)},
          {"precision", share(c.precision)},
          {"missed", c.missed},
          {"uncertain", c.uncertain},
          {"uncertain_true", c.uncertain_truth},
          {"beside_compute", c.beside_compute},
          {"beside_nothing", c.beside_nothing},
          {"before_nccl", c.before_nccl},
          {"bubbles_said", c.said_bubbles},
          {"said", c.said},
          {"said_beside_compute", c.said_beside_compute},
          {"bubbles", c.bubbles},
          {"bubbles_matched", c.matched},
          {"bubbles_false", c.false_bubbles},
          {"bubbles_true", c.true_bubbles},
          {"bubbles_missed", c.missed_bubbles},
          {"long_bubbles_true", c.long_true},
          {"long_bubbles_missed", c.long_missed},
          {"long_bubbles_false", c.long_false},
          {"largest_missed", spans(c.largest_missed)},
          {"largest_false", spans(c.largest_false)},
          {"begins", errors(c.opens)},
          {"ends", errors(c.closes)},
          {"slices", c.slices},
          {"fill_alone", c.fill_alone},
          {"fill_true", c.fill_busy},
          {"fill_in_idle", c.fill_in_idle},
          {"fill_beside_compute", c.fill_beside_compute}};
}

}  // namespace

std::string to_text(const RunValidation& run) {
  std::string text;
  if (run.compared() > 0)
    text +=
        "held against CUPTI, whose records slow the training down: its iteration times are not those of other "
        "runs\n\n"
        "rank  idle %  true % coverage % precision % uncertain %   computed %    nothing %  bubbles   true missed  "
        "false\n";
  for (const RankValidation& rank : run.ranks)
    if (rank.nothing.empty()) text += row(rank);
  text += run.compared() > 0 ? "\n" : "";
  for (const RankValidation& rank : run.ranks)
    text += rank.nothing.empty() ? details(rank) : "rank " + rank.name + ": not validated: " + rank.nothing + "\n";
  for (const RankValidation& rank : run.ranks)
    for (const std::string& note : rank.notes) text += "note: rank " + rank.name + ": " + note + "\n";
  for (const std::string& note : run.notes) text += "note: " + note + "\n";
  return text + verdict(run);
}

std::string to_json(const RunValidation& run) {
  ordered_json ranks = ordered_json::array();
  for (const RankValidation& rank : run.ranks) {
    ordered_json entry{
        {"rank", rank.rank}, {"device", rank.device}, {"cupti", rank.cupti}, {"compared", rank.nothing.empty()}};
    if (!rank.nothing.empty()) entry["why_not"] = rank.nothing;
    if (rank.nothing.empty()) entry.update(comparison(rank.comparison));
    entry["clock_uncertainty"] = rank.clock_uncertainty;
    entry["dropped_records"] = rank.dropped;
    entry["undecided"] = rank.nothing.empty() && !rank.decided();
    entry["doubts"] = rank.doubts;
    entry["notes"] = rank.notes;
    entry["faults"] = rank.faults;
    entry["likely_cause"] = rank.likely_cause;
    ranks.push_back(std::move(entry));
  }
  const ordered_json result{{"agrees", run.agrees()},
                            {"complete", run.complete},
                            {"bounds",
                             {{"least", run.bounds.least},
                              {"forgiven", run.bounds.forgiven},
                              {"most_uncertain", run.bounds.most_uncertain},
                              {"most_beside_nothing", run.bounds.most_beside_nothing},
                              {"least_compared", run.bounds.least_compared}}},
                            {"shortest_idle", run.shortest},
                            {"ranks", ranks},
                            {"notes", run.notes}};
  return result.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weft
