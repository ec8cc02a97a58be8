// See the header.
#include "trace/clocks/clock_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

#include "trace/formatted.h"

namespace weft {
namespace {

constexpr std::size_t most_lines = 16;
constexpr double ppm = 1e6;

std::string time_text(Duration time) {
  const double nanoseconds = std::abs(static_cast<double>(time.count()));
  if (nanoseconds < 1e3) return formatted("%.0f ns", nanoseconds);
  if (nanoseconds < 1e6) return formatted(nanoseconds < 1e4 ? "%.1f us" : "%.0f us", nanoseconds / 1e3);
  if (nanoseconds < 1e9) return formatted("%.3f ms", nanoseconds / 1e6);
  return formatted("%.3f s", nanoseconds / 1e9);
}

// "1,234"
std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, ",");
  return text;
}

std::string counted(std::uint64_t count, const std::string& one, const std::string& several) {
  return count_text(count) + " " + (count == 1 ? one : several);
}

std::string counted(std::uint64_t count, const std::string& one) {
  return counted(count, one, one + "s");
}

std::string source_text(const PlacedClock& clock) {
  if (clock.collectives == 0) return counted(clock.messages, "message");
  if (clock.messages == 0) return counted(clock.collectives, "collective");
  return counted(clock.messages, "message") + " and " + counted(clock.collectives, "collective");
}

std::string drift_text(const PlacedClock& clock) {
  const double rate = clock.ahead.rate(), within = clock.ahead.rate_within();
  if (clock.most_rate - clock.least_rate > within)
    return formatted(", drifting %.1f to %.1f ppm", clock.least_rate * ppm, clock.most_rate * ppm);
  constexpr double vague = 2e-5;
  if (within > std::max(vague, std::abs(rate) / 4))
    return formatted(", drifting less than %.0f ppm", std::ceil((std::abs(rate) + within) * ppm));
  return formatted(", drifting %.1f ppm", rate * ppm);
}

std::string line_of(const RunClocks& run, std::uint32_t number) {
  const PlacedClock& clock = run.clocks()[number];
  const auto& hosts = run.hosts().clocks;
  std::string text = hosts[number].name + " is ";
  if (!clock.wall_ahead) text += "on the clock of ";
  if (clock.wall_ahead)
    text += time_text(*clock.wall_ahead) + (*clock.wall_ahead < Duration{} ? " behind " : " ahead of ");
  text += hosts[clock.beside].name + ", within " + time_text(clock.within);
  if (clock.most_within > 2 * clock.within) text += ", at times " + time_text(clock.most_within);
  text += drift_text(clock) + " (from " + source_text(clock);
  if (clock.by_way_of != clock.beside) text += " with " + hosts[clock.by_way_of].name;
  return text + ")";
}

// Of a change that is larger than what is not known anyway.
bool has_visible_break(const PlacedClock& clock) {
  return clock.largest_break && std::chrono::abs(clock.largest_break->moved) > 2 * clock.ahead.median_within();
}

std::string break_note(const RunClocks& run, std::uint32_t number) {
  const PlacedClock& clock = run.clocks()[number];
  const auto& hosts = run.hosts().clocks;
  const Duration moved = clock.largest_break->moved;
  return "clocks: " + hosts[number].name + " did not keep one rate against " + hosts[clock.by_way_of].name + ": " +
         formatted("%.1f s", static_cast<double>(clock.break_after.count()) / 1e9) +
         " after their first message it was " + time_text(moved) + (moved < Duration{} ? " behind" : " ahead of") +
         " where it had been heading (its clock or that of the other host was slewed or stood still); around that "
         "time the interval is wider";
}

// "" where there is nothing to say.
std::string contradiction_note(const RunClocks& run, std::uint32_t number) {
  const PlacedClock& clock = run.clocks()[number];
  if (has_visible_break(clock)) return break_note(run, number);
  if (clock.contradictions == 0) return "";
  return "clocks: " + run.hosts().clocks[number].name + ": in " +
         counted(clock.contradictions, "stretch", "stretches") + " of time its messages with " +
         run.hosts().clocks[clock.by_way_of].name +
         " contradict each other; the interval there is what the time before and behind it allows";
}

// "host b, host c and 3 more"
std::string listed_hosts(const RunClocks& run, const std::vector<std::uint32_t>& numbers) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t index = 0; index < std::min(most, numbers.size()); ++index)
    text += (index == 0 ? "" : ", ") + run.hosts().clocks[numbers[index]].name;
  return numbers.size() > most ? text + " and " + count_text(numbers.size() - most) + " more" : text;
}

// One note for all that lack messages for the same reason.
void add_wall_clock_notes(const RunClocks& run, std::vector<std::string>& notes) {
  std::array<std::vector<std::uint32_t>, without_messages_texts.size()> without;
  std::vector<std::uint32_t> unset;
  for (std::uint32_t number = 0; number < run.clocks().size(); ++number) {
    const PlacedClock& clock = run.clocks()[number];
    if (clock.by != PlacedBy::wall_clock) continue;
    without[static_cast<std::size_t>(clock.why)].push_back(number);
    if (!run.hosts().has_wall_clock(number, run.first())) unset.push_back(number);
  }
  for (std::size_t why = 0; why < without.size(); ++why)
    if (!without[why].empty())
      notes.push_back("clocks: " + listed_hosts(run, without[why]) + ": " + without_messages_texts[why] +
                      "; put beside " + run.hosts().clocks[run.first()].name +
                      " by wall clocks, which may be apart by tenths of a millisecond and more, and drift");
  if (!unset.empty())
    notes.push_back("clocks: " + listed_hosts(run, unset) + ": the wall clock here or on " +
                    run.hosts().clocks[run.first()].name +
                    " is not set; they were moved to the start of the first one");
}

// Of hosts that messages place, so all that is not known is the difference.
void add_unset_wall_clock_note(const RunClocks& run, std::vector<std::string>& notes) {
  std::vector<std::uint32_t> unset;
  for (std::uint32_t number = 0; number < run.clocks().size(); ++number)
    if (run.clocks()[number].by == PlacedBy::messages && !run.clocks()[number].wall_ahead) unset.push_back(number);
  if (!unset.empty())
    notes.push_back("clocks: " + listed_hosts(run, unset) +
                    ": the wall clock here or on the host beside which it stands is not set: how far it is ahead of "
                    "that one is not known");
}

// Machines may have the same name, or the same boot where a container hides it.
void add_too_early_notes(const RunClocks& run, std::vector<std::string>& notes) {
  std::vector<std::uint32_t> clocks;
  std::uint64_t count = 0;
  Duration most{};
  for (const auto& [clock, too_early] : run.too_early()) {
    clocks.push_back(clock);
    count += too_early.count;
    most = std::max(most, too_early.most);
  }
  if (!clocks.empty())
    notes.push_back("clocks: " + listed_hosts(run, clocks) + ": " +
                    counted(count, "message or collective", "messages and collectives") +
                    " reached one of its ranks before another one had sent them, by up to " + time_text(most) +
                    ": these are not of one clock (several machines with one name or boot, or a wrong clock_offset), "
                    "and their times beside each other are wrong");
}

}  // namespace

std::vector<std::string> clock_lines(const RunClocks& run) {
  std::vector<std::string> lines;
  std::uint64_t further = 0;
  Duration most{};
  for (std::uint32_t number = 0; number < run.clocks().size(); ++number) {
    if (run.clocks()[number].by != PlacedBy::messages) continue;
    if (lines.size() < most_lines) {
      lines.push_back(line_of(run, number));
      continue;
    }
    ++further;
    most = std::max(most, run.clocks()[number].within);
  }
  if (further > 0)
    lines.push_back(counted(further, "more host") + ": likewise from messages, within " + time_text(most) + " or less");
  return lines;
}

std::vector<std::string> clock_notes(const RunClocks& run) {
  std::vector<std::string> notes;
  add_too_early_notes(run, notes);
  add_wall_clock_notes(run, notes);
  add_unset_wall_clock_note(run, notes);
  std::size_t unsteady = 0;
  for (std::uint32_t number = 0; number < run.clocks().size(); ++number) {
    std::string note = contradiction_note(run, number);
    if (!note.empty() && ++unsteady <= most_lines) notes.push_back(std::move(note));
  }
  if (unsteady > most_lines)
    notes.push_back("clocks: " + counted(unsteady - most_lines, "more host") + " did not keep one rate either");
  if (run.hosts().lacks_offsets)
    notes.push_back(
        "ranks of one boot: some do not know by how much a time namespace has moved their clock (clock_offset is null) "
        "and were not moved; if they are in one, they stand at the wrong time. Their messages do not count for clocks");
  if (run.left_out() > 0)
    notes.push_back("clocks: " + counted(run.left_out(), "message") + " between more than " +
                    count_text(ClockBounds::most_pairs) + " pairs of hosts were not looked at");
  return notes;
}

}  // namespace weft
