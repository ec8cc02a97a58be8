// The data block: one section of the page after the other; see report.h. The page draws, and has no words of its own
// but those of its buttons.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "trace/clocks/clock_text.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/report/data_table.h"
#include "trace/report/file_names.h"
#include "trace/report/report.h"
#include "trace/report/sections.h"
#include "trace/totals.h"

namespace weft::report {
namespace {

// The begin of the run, in UTC.
std::string utc(Duration since_1970) {
  using namespace std::chrono;
  const sys_seconds time{duration_cast<seconds>(since_1970)};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  return formatted("%d-%02u-%02u %02d:%02d UTC", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                   static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                   static_cast<int>(clock.minutes().count()));
}

std::string about(const Report& report) {
  const ReportedRun& run = *report.run;
  std::set<std::string> settings, hosts;
  std::set<std::int64_t> ranks;
  Duration longest{};
  for (const RankSummary& rank : run.summary().ranks) {
    settings.insert(rank.header.fill_job.empty()
                        ? printable(rank.header.mode)
                        : "filled with " + with_names_of_files(printable(rank.header.fill_job), run.directories));
    hosts.insert(printable(rank.header.host));
    ranks.insert(rank.header.rank);
    longest = std::max(longest, rank.window);
  }
  std::string text =
      report.place + formatted(" · %zu ranks on %zu host%s", ranks.size(), hosts.size(), hosts.size() == 1 ? "" : "s");
  for (const std::string& setting : settings) text += " · " + setting;
  const TraceHeader& first = run.traces.front().header;
  return text + " · " + utc(first.wall_clock) + formatted(", %.0f s", static_cast<double>(longest.count()) / 1e9) +
         " · Weft " + printable(first.weft);
}

// The meaning of the colours: the page has one for each cause, and for these.
ordered_json kinds() {
  return {{"unknown", "waits, nobody knows for what"},
          {"receive", "waits for a message"},
          {"send", "waits to hand on a message"},
          {"collective", "waits in a collective"},
          {"host", "waits for the host"},
          {"schedule", "nothing to compute, as the training says"},
          {"uncertain", "uncertain: nobody could tell"},
          {"dark", "dark: not watched"},
          {"fill", "fill work"},
          {"busy", "outside of bubbles: computation, mostly"}};
}

std::vector<std::string> all_notes(const ReportedRun& run) {
  std::vector<std::string> notes = run.summary().notes;
  notes.insert(notes.end(), run.summary().notes_on_names.begin(), run.summary().notes_on_names.end());
  for (std::string& note : notes) note = with_names_of_files(note, run.directories);
  if (notes.empty()) notes.push_back("Nothing is missing, and nothing is unsure.");
  for (const std::string& line : clock_lines(run.summary().clocks)) notes.push_back("clocks: " + line);
  return notes;
}

// ASCII without the letters that could begin a tag: whatever a trace has in its names, it stays text.
std::string harmless(const ordered_json& json) {
  const std::string text = json.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (const char letter : text) {
    if (letter == '<')
      result += "\\u003c";
    else if (letter == '>')
      result += "\\u003e";
    else if (letter == '&')
      result += "\\u0026";
    else
      result += letter;
  }
  return result;
}

}  // namespace

std::string data_block(const Report& report) {
  ordered_json sections = ordered_json::array();
  for (const auto& make : {headline_section, timeline_section, ranks_section, waits_section, slots_section,
                           forecasts_section, filling_section, what_if_section})
    sections.push_back(make(report));
  sections.push_back({{"id", "notes"}, {"title", "Notes"}, {"list", all_notes(*report.run)}});
  return harmless({{"about", about(report)},
                   {"sentences", sentences_of(report)},
                   {"kinds", kinds()},
                   {"sections", std::move(sections)}});
}

}  // namespace weft::report
