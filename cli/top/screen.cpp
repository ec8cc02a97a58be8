// See screen.h.
#include "cli/top/screen.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "cli/top/columns.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"

namespace weft::cli {
namespace {

// Beside them there is room for rows.
std::size_t most_notes(const TopSize& size) {
  return std::min<std::size_t>(3, size.lines / 8);
}

std::string padded(std::string text, std::size_t width, bool is_left, std::size_t shown_as) {
  const std::size_t blanks = width > shown_as ? width - shown_as : 0;
  return is_left ? text + std::string(blanks, ' ') : std::string(blanks, ' ') + text;
}

// Block characters of a sparkline have three bytes and one column; all else is ASCII by then.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool is_sparkline(const TopColumn& column) {
  return std::string_view(column.title) == "ITERATIONS";
}

std::string row_text(const LiveRank& rank, std::span<const TopColumn> columns, bool utf8) {
  std::string line;
  for (const TopColumn& column : columns) {
    std::string cell = column.cell(rank, utf8);
    if (!is_sparkline(column)) cell = in_width(cell, column.width);
    line += (line.empty() ? "" : " ") + padded(cell, column.width, column.is_left, columns_of(cell));
  }
  return line;
}

std::string head_text(std::span<const TopColumn> columns) {
  std::string line;
  for (const TopColumn& column : columns)
    line += (line.empty() ? "" : " ") +
            padded(column.title, column.width, column.is_left, std::string_view(column.title).size());
  return line;
}

TopStyle style_of(const LiveRank& rank) {
  if (rank.presence == LivePresence::gone) return TopStyle::red;
  if (rank.presence == LivePresence::silent) return TopStyle::yellow;
  if (rank.presence == LivePresence::ended) return TopStyle::dim;
  const bool is_out = rank.state == LiveState::stopped || rank.state == LiveState::paused;
  return is_out ? TopStyle::yellow : TopStyle::plain;
}

std::string ranks_text(const LiveRun& run) {
  const auto of_job = static_cast<std::size_t>(std::max<std::int64_t>(run.ranks_of_job(), 0));
  std::string text = std::to_string(run.ranks.size());
  if (of_job != run.ranks.size()) text += " of " + std::to_string(of_job);
  text += run.ranks.size() == 1 && of_job == 1 ? " rank" : " ranks";
  std::string states;
  for (std::size_t presence = 0; presence < live_presence_names.size(); ++presence)
    if (const std::size_t count = run.count(static_cast<LivePresence>(presence)); count > 0)
      states += (states.empty() ? ": " : ", ") + std::to_string(count) + " " + live_presence_names[presence];
  return text + states;
}

std::string fill_text(const LiveRun& run) {
  for (const LiveRank& rank : run.ranks)
    if (!rank.fill_jobs.empty()) return "fill: " + rank.fill_jobs;
  const bool fills = std::ranges::any_of(run.ranks, [](const LiveRank& rank) { return rank.mode == "fill"; });
  return fills ? "fill: no job runs" : "observing";
}

// Of the rank that is farthest: its numbers are the freshest.
const LiveRank& foremost(const LiveRun& run) {
  return *std::ranges::max_element(run.ranks, {}, [](const LiveRank& rank) { return rank.numbers().iterations; });
}

const LiveRank* most_slowed_down(const LiveRun& run) {
  const LiveRank* most = nullptr;
  for (const LiveRank& rank : run.ranks) {
    if (!rank.numbers().knows_slowdown()) continue;
    if (most == nullptr || rank.numbers().slowdown > most->numbers().slowdown) most = &rank;
  }
  return most;
}

std::string slowdown_text(const LiveRun& run) {
  const LiveRank* const rank = most_slowed_down(run);
  if (rank == nullptr) return "slowdown not known";
  const LiveNumbers& numbers = rank->numbers();
  return "slowdown " + signed_percent(numbers.slowdown) + " % (" + signed_percent(numbers.slowdown_low) + " to " +
         signed_percent(numbers.slowdown_high) + ") on rank " + rank->name +
         formatted(", budget %.3g %%", 100 * numbers.slowdown_budget);
}

// Three lines: which run, its time, its filling.
std::vector<TopLine> head_of(const LiveRun& run, const TopLook& look, std::size_t width) {
  const std::size_t spark_width = width < 100 ? 16 : live_iterations;
  const LiveRank& first = foremost(run);
  std::vector<TopLine> lines;
  lines.push_back({{"weft top ", TopStyle::bold},
                   {look.place + "   " + ranks_text(run) + "   " + fill_text(run), TopStyle::plain}});
  const std::string idle = run.steady.window > Duration{} ? "idle " + percent(run.recent.idle_share()) + " % now, " +
                                                                percent(run.steady.idle_share()) + " % of the run"
                                                          : "idle time is not known";
  lines.push_back(
      {{"iteration " + std::to_string(first.numbers().iterations) + "   " + short_length(first.mean_length()) + " " +
            sparkline(first.lengths, spark_width, look.utf8) + "   " + idle,
        TopStyle::plain}});
  std::uint64_t dropped = 0;
  for (const LiveRank& rank : run.ranks) dropped += rank.numbers().dropped_records;
  const bool fills = std::ranges::any_of(run.ranks, [](const LiveRank& rank) { return rank.mode == "fill"; });
  const std::string filling = fills ? "filled " + percent(run.steady.conversion()) + " %   "
                                    : "uncertain " + percent(run.steady.uncertain_share()) + " %   ";
  lines.push_back({{filling, TopStyle::plain},
                   {"records dropped " + std::to_string(dropped), dropped > 0 ? TopStyle::yellow : TopStyle::plain},
                   {fills ? "   " + slowdown_text(run) : "", TopStyle::plain}});
  return lines;
}

std::string keys_text(const TopView& view) {
  if (view.typed) return "filter (ranks as 0,4-7, or text; Enter takes it, Escape not): " + *view.typed + "_";
  std::string text = std::string(view.paused ? "paused: p goes on  " : "") +
                     "q quit  s sort: " + std::string(top_sort_names[static_cast<std::size_t>(view.sort)]) +
                     (view.reverse ? " (reversed)" : "") + "  r reverse  / filter";
  if (!view.filter.empty()) text += ": " + printable(view.filter);
  return text + (view.paused ? "" : "  p pause") + "  arrows  h help";
}

std::vector<TopLine> help_of(const TopSize& size) {
  std::vector<TopLine> lines;
  lines.push_back({{"weft top: keys", TopStyle::bold}});
  for (const char* const line :
       {"  q          quit", "  s, r       sort by rank, idle, filled, slowdown, iteration; reverse",
        "  /          show some ranks only: 0,4-7, or a text of host, state, fill job; Escape: all",
        "  p, blank   pause", "  arrows, Page Up, Page Down, Home, End   move in the list", "  h, ?       this help"})
    lines.push_back({{line, TopStyle::plain}});
  lines.push_back({{"Columns; a wider terminal has more", TopStyle::bold}});
  for (const TopColumn& column : top_columns_in(size.columns))
    lines.push_back({{formatted("  %-10s %s", column.title, column.meaning), TopStyle::plain}});
  return lines;
}

// So that nothing of it wraps.
void cut(TopLine& line, std::size_t width) {
  std::size_t used = 0;
  for (TopSpan& span : line) {
    std::size_t bytes = 0;
    while (bytes < span.text.size()) {
      const bool begins = (static_cast<unsigned char>(span.text[bytes]) & 0xc0) != 0x80;
      if (begins && used == width) break;
      used += begins ? 1 : 0;
      ++bytes;
    }
    span.text.resize(bytes);
  }
}

std::string seconds_ago(Duration age) {
  return short_length(age) + " ago";
}

// Nothing: there is nothing to say of it.
std::optional<std::string> note_on(const LiveRank& rank) {
  if (rank.presence == LivePresence::gone) return "the process is gone, and has not said that it ends";
  if (rank.presence == LivePresence::silent)
    return "last word " + seconds_ago(rank.age) +
           (rank.process_is_known ? "; the process is there"
                                  : "; whether the process is there cannot be seen from here");
  if (rank.state == LiveState::stopped) return "filling is over: " + rank.why;
  if (rank.presence == LivePresence::ended) return std::nullopt;
  if (rank.state == LiveState::paused) return rank.why;
  if (rank.state == LiveState::held) return "the slowdown budget lets nothing be filled";
  return std::nullopt;
}

std::vector<std::string> short_notes(const LiveRun& run, std::size_t most) {
  std::vector<std::string> notes = top_notes(run);
  if (most == 0) return {};
  if (notes.size() <= most) return notes;
  const std::size_t more = notes.size() - (most - 1);
  notes.resize(most - 1);
  notes.push_back("and " + std::to_string(more) + " more notes: weft top --once has them all");
  return notes;
}

}  // namespace

std::vector<std::string> top_notes(const LiveRun& run) {
  std::map<std::string, std::vector<std::string>> ranks;  // by what is to be said
  std::vector<std::string> order;
  for (const LiveRank& rank : run.ranks)
    if (const std::optional<std::string> note = note_on(rank)) {
      if (ranks[*note].empty()) order.push_back(*note);
      ranks[*note].push_back(rank.name);
    }
  std::vector<std::string> notes;
  for (const std::string& note : order) notes.push_back(listed_ranks(ranks[note]) + ": " + note);
  std::vector<std::string> unknown;
  for (const LiveRank& rank : run.ranks)
    if (!rank.idle_known) unknown.push_back(rank.name);
  if (!unknown.empty()) notes.push_back(listed_ranks(unknown) + ": bubbles are not measured, idle time is not known");
  notes.insert(notes.end(), run.notes.begin(), run.notes.end());
  return notes;
}

std::string plain(const TopLine& line) {
  std::string text;
  for (const TopSpan& span : line) text += span.text;
  return text;
}

std::size_t page_of(const LiveRun& run, const TopSize& size) {
  constexpr std::size_t fixed = 3 + 1 + 1;  // head, titles, keys
  const std::size_t used = fixed + (run.ranks.empty() ? 0 : short_notes(run, most_notes(size)).size());
  return size.lines > used ? size.lines - used : 0;
}

std::vector<TopLine> screen_of(const LiveRun& run, const TopView& view, const TopLook& look, const TopSize& size) {
  std::vector<TopLine> lines;
  std::string place;  // in the list
  if (view.help) {
    lines = help_of(size);
  } else if (run.ranks.empty()) {
    lines.push_back({{"weft top ", TopStyle::bold}, {look.place, TopStyle::plain}});
    lines.push_back({{"no rank has a page here yet (rank*.live): waiting", TopStyle::plain}});
    for (const std::string& note : short_notes(run, most_notes(size))) lines.push_back({{note, TopStyle::yellow}});
  } else {
    lines = head_of(run, look, size.columns);
    const std::vector<const LiveRank*> rows = rows_of(run, view);
    const std::size_t page = page_of(run, size);
    const std::size_t first = std::min(view.first, rows.size() > page ? rows.size() - page : 0);
    const std::span<const TopColumn> columns = top_columns_in(size.columns);
    const std::string head = head_text(columns);
    if (rows.size() > page) place = formatted("  %zu-%zu of %zu", first + 1, first + page, rows.size());
    lines.push_back({{padded(head, size.columns, true, head.size()), TopStyle::head}});
    for (std::size_t row = first; row < std::min(first + page, rows.size()); ++row)
      lines.push_back({{row_text(*rows[row], columns, look.utf8), style_of(*rows[row])}});
    if (rows.empty()) lines.push_back({{"no rank passes the filter", TopStyle::dim}});
    const std::vector<std::string> notes = short_notes(run, most_notes(size));
    const std::size_t end = size.lines - std::min(size.lines, notes.size() + 1);
    lines.resize(std::max(std::min(lines.size(), end), end));
    for (const std::string& note : notes) lines.push_back({{in_width(note, size.columns), TopStyle::yellow}});
  }
  lines.resize(size.lines > 0 ? size.lines - 1 : 0);
  if (size.lines > 0) lines.push_back({{keys_text(view) + (view.typed ? "" : place), TopStyle::dim}});
  for (TopLine& line : lines) cut(line, size.columns);
  return lines;
}

std::string table_of(const LiveRun& run, const TopView& view, const TopLook& look, std::size_t width) {
  std::string text;
  const auto add = [&](const std::string& line) { text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n"; };
  for (const TopLine& line : head_of(run, look, width)) add(plain(line));
  text += "\n";
  const std::span<const TopColumn> columns = top_columns_in(width);
  add(head_text(columns));
  for (const LiveRank* const rank : rows_of(run, view)) add(row_text(*rank, columns, look.utf8));
  for (const std::string& note : top_notes(run)) add("note: " + note);
  return text;
}

}  // namespace weft::cli
