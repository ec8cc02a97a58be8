// A comparison of two runs as text for people and as JSON for programs; see comparison.h.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "trace/compare/comparison.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t most_rows = 16;
constexpr double least_change = 5e-5;  // of less no digit is shown
constexpr double least_shown = 5e-6;   // share of idle time of a cause: of less the digits are all 0

// How a number is written: lengths in milliseconds, with changes in percent; shares in percent, with changes in points.
struct Unit {
  double scale = 1;
  const char *of_value = "", *of_change = "";
};
constexpr Unit length_unit{1e-6, "ms", "%"}, share_unit{100, "%", "points"};

std::string value_text(const std::optional<double>& value, const Unit& unit) {
  return value ? formatted("%.3f %s", unit.scale * *value, unit.of_value) : "unknown";
}

// With its sign, unless all digits are 0.
std::string signed_text(double value) {
  const std::string text = formatted("%+.2f", 100 * value);
  return text == "+0.00" || text == "-0.00" ? "0.00" : text;
}

std::string interval_text(const Interval& interval, const Unit& unit) {
  return signed_text(interval.low) + " to " + signed_text(interval.high) + " " + unit.of_change;
}

std::string size_text(double size, const Unit& unit) {
  if (size < least_change) return std::string("less than 0.01 ") + unit.of_change;
  return formatted("%.2f %s", 100 * size, unit.of_change);
}

std::string at_most(const Interval& found, const Unit& unit) {
  return (found.farthest() < least_change ? "" : "at most ") + size_text(found.farthest(), unit);
}

std::string change_text(const Change& change, const Unit& unit) {
  if (change.undecided) return formatted("unknown: for %.1f %% nobody could tell", 100 * *change.undecided);
  if (!change.change) return "unknown";
  const Interval& found = *change.change;
  if (found.has_zero()) return "no difference seen: " + at_most(found, unit);
  return signed_text(found.value) + " " + unit.of_change + " (" + signed_text(found.low) + " to " +
         signed_text(found.high) + ")";
}

// "4.05 % longer", "2.20 points more"
std::string by_how_much(const Interval& found, const Unit& unit, const char* more, const char* less) {
  return size_text(std::abs(found.value), unit) + " " + (found.value > 0 ? more : less);
}

std::string length_sentence(const Change& length) {
  const std::string values =
      value_text(length.second, length_unit) + " in B and " + value_text(length.first, length_unit) + " in A";
  if (!length.change) return "Whether the median iteration takes longer is unknown: " + values + ", with no interval.";
  const std::string interval = " (95 % interval " + interval_text(*length.change, length_unit) + ").";
  if (length.change->has_zero())
    return "The median iteration: no difference seen, " + at_most(*length.change, length_unit) + "; " + values +
           interval;
  return "The median iteration of B takes " + by_how_much(*length.change, length_unit, "longer", "less") + ": " +
         values + interval;
}

// "": the mean says the same as the median.
std::string mean_sentence(const ComparedPart& all) {
  constexpr double alike = 0.02;
  if (!all.length.first || !all.length.second || !all.mean.first || !all.mean.second) return "";
  const double median = *all.length.second / *all.length.first - 1, mean = *all.mean.second / *all.mean.first - 1;
  const bool other_sign = all.length.change && !all.length.change->has_zero() && median * mean < 0;
  if (!other_sign && std::abs(mean - median) <= alike) return "";
  const bool unsure = !all.mean.change || all.mean.change->has_zero();
  return formatted(" But the mean iteration takes %.2f %% ", 100 * std::abs(mean)) + (mean > 0 ? "longer" : "less") +
         (unsure ? ", which may be chance: some iterations are much longer than others." : ".");
}

std::string idle_sentence(const Change& idle) {
  const std::string values =
      value_text(idle.second, share_unit) + " in B and " + value_text(idle.first, share_unit) + " in A";
  if (idle.undecided)
    return formatted("Whether the GPUs are idle for longer is unknown: for %.1f %% of the time nobody could tell; ",
                     100 * *idle.undecided) +
           values + ".";
  if (!idle.change) return "Whether the GPUs are idle for longer is unknown: " + values + ", with no interval.";
  const std::string interval = " (95 % interval " + interval_text(*idle.change, share_unit) + ").";
  if (idle.change->has_zero())
    return "Idle time: no difference seen, " + at_most(*idle.change, share_unit) + "; " + values + interval;
  return "The GPUs of B are idle for " + by_how_much(*idle.change, share_unit, "more", "less") +
         " of the time: " + values + interval;
}

// "": none has changed for certain.
std::string part_sentence(const std::vector<ComparedPart>& parts) {
  const ComparedPart* most = nullptr;
  for (const ComparedPart& part : parts) {
    if (!part.idle_differs || !part.idle.change) continue;
    if (most == nullptr || std::abs(part.idle.change->value) > std::abs(most->idle.change->value)) most = &part;
  }
  if (most == nullptr) return "";
  return "The idle time of " + printable(most->name) + " has changed most: by " + change_text(most->idle, share_unit) +
         ".\n";
}

std::string about(const char* name, const ComparedRun& run) {
  const TraceHeader& header = run.summary.ranks.front().header;
  return std::string(name) + "  " + printable(run.place) +
         formatted(": %zu rank%s, %zu iteration%s, Weft ", run.summary.ranks.size(),
                   run.summary.ranks.size() == 1 ? "" : "s", run.all.all, run.all.all == 1 ? "" : "s") +
         printable(header.weft) + "\n";
}

std::string row(const std::string& name, const Change& change, const Unit& unit) {
  return formatted("%-16s %14s %14s   ", name.c_str(), value_text(change.first, unit).c_str(),
                   value_text(change.second, unit).c_str()) +
         change_text(change, unit) + "\n";
}

std::string table(const ComparedPart& all) {
  std::string text = formatted("%-16s %14s %14s   %s\n", "of all ranks", "A", "B", "change (95 % interval)");
  text += row("median iteration", all.length, length_unit) + row("mean iteration", all.mean, length_unit) +
          row("idle", all.idle, share_unit);
  for (std::size_t cause = 0; cause < cause_names.size(); ++cause)
    if (std::max(all.by_cause[cause].first.value_or(0), all.by_cause[cause].second.value_or(0)) >= least_shown)
      text += row(std::string("  ") + cause_names[cause], all.by_cause[cause], share_unit);
  const double left =
      std::max(std::abs(all.of_no_cause.first.value_or(0)), std::abs(all.of_no_cause.second.value_or(0)));
  if (left >= least_shown) text += row("  not recorded", all.of_no_cause, share_unit);
  return text + row("uncertain", all.uncertain, share_unit);
}

double size_of_change(const ComparedPart& part) {
  return part.idle.change ? std::abs(part.idle.change->value) : 0;
}

// Of many those with the largest changes of idle time.
std::string parts_table(const char* title, std::vector<ComparedPart> parts) {
  if (parts.empty()) return "";
  const std::size_t all = parts.size();
  if (all > most_rows) {
    std::ranges::stable_sort(parts, std::greater{}, size_of_change);
    parts.resize(most_rows);
  }
  std::size_t width = std::string(title).size();
  for (const ComparedPart& part : parts) width = std::max(width, part.name.size());
  const auto line = [width](const std::string& name, const std::string& first, const std::string& second) {
    return name + std::string(width - name.size(), ' ') + "   " + formatted("%-40s", first.c_str()) + " " + second +
           "\n";
  };
  std::string text = "\n" + line(title, "median iteration", "idle");
  for (const ComparedPart& part : parts)
    text += line(part.name, change_text(part.length, length_unit), change_text(part.idle, share_unit));
  if (all > most_rows)
    text += formatted("and %zu more with smaller changes of idle time; --json has all\n", all - most_rows);
  if (all >= 10)
    text += formatted("of %zu intervals some %.0f miss the truth by chance\n", 2 * all, 0.1 * static_cast<double>(all));
  return text;
}

ordered_json to_json(const Change& change) {
  const auto value = [](const std::optional<double>& known) { return known ? ordered_json(*known) : nullptr; };
  ordered_json json{{"a", value(change.first)}, {"b", value(change.second)}};
  json["change"] = change.change ? ordered_json(change.change->value) : nullptr;
  json["low"] = change.change ? ordered_json(change.change->low) : nullptr;
  json["high"] = change.change ? ordered_json(change.change->high) : nullptr;
  json["differs"] = change.change ? ordered_json(!change.change->has_zero()) : nullptr;
  return json;
}

ordered_json to_json(const ComparedPart& part) {
  ordered_json causes = ordered_json::object(), json;
  for (std::size_t cause = 0; cause < cause_names.size(); ++cause)
    causes[cause_names[cause]] = to_json(part.by_cause[cause]);
  if (!part.name.empty()) json["name"] = part.name;
  json["iteration_time"] = to_json(part.length);
  json["mean_iteration"] = to_json(part.mean);
  json["idle_share"] = to_json(part.idle);
  json["idle_share_by_cause"] = causes;
  json["idle_share_cause_not_recorded"] = to_json(part.of_no_cause);
  json["uncertain_share"] = to_json(part.uncertain);
  return json;
}

ordered_json to_json(const std::vector<ComparedPart>& parts) {
  ordered_json list = ordered_json::array();
  for (const ComparedPart& part : parts) list.push_back(to_json(part));
  return list;
}

ordered_json to_json(const ComparedRun& run) {
  const TraceHeader& header = run.summary.ranks.front().header;
  return {{"place", printable(run.place)},
          {"ranks", run.summary.ranks.size()},
          {"iterations", run.all.all},
          {"every", run.all.every},
          {"weft", std::string_view(header.weft)},
          {"mode", std::string_view(header.mode)}};
}

}  // namespace

std::string to_text(const RunComparison& comparison, const ComparedRun& first, const ComparedRun& second) {
  std::string text = about("A", first) + about("B", second) + "\n", below;
  for (std::size_t i = 0; i < comparison.notes.size(); ++i)
    (i < comparison.cautions ? text : below) += "note: " + comparison.notes[i] + "\n";
  if (comparison.cautions > 0) text += "\n";
  if (comparison.other_work) text += "An iteration of B is other work than one of A. ";
  text += length_sentence(comparison.all.length) + mean_sentence(comparison.all) + "\n" +
          idle_sentence(comparison.all.idle) + "\n" +
          part_sentence(comparison.stages.empty() ? comparison.ranks : comparison.stages) + "\n" +
          table(comparison.all) + parts_table("by stage", comparison.stages) + parts_table("by rank", comparison.ranks);
  text +=
      "\nthe intervals hold for these two runs; the same program may differ by more from run to run (docs/diff.md)\n";
  return text + below;
}

std::string to_json(const RunComparison& comparison, const ComparedRun& first, const ComparedRun& second) {
  ordered_json result{{"a", to_json(first)}, {"b", to_json(second)}};
  result["all"] = to_json(comparison.all);
  result["stages"] = to_json(comparison.stages);
  result["by_rank"] = to_json(comparison.ranks);
  result["notes"] = comparison.notes;
  return result.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weft
