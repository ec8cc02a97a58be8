// See columns.h.
#include "cli/top/columns.h"

#include <algorithm>
#include <array>

#include "trace/formatted.h"
#include "trace/utf8.h"

namespace weft::cli {
namespace {

constexpr std::size_t spark_width = 16, waits_width = 14;

std::string state_cell(const LiveRank& rank, bool /*utf8*/) {
  const bool is_there = rank.presence == LivePresence::running;
  return is_there ? live_state_names[static_cast<std::size_t>(rank.state)]
                  : live_presence_names[static_cast<std::size_t>(rank.presence)];
}

std::optional<double> known_share(const LiveRank& rank, double share) {
  return rank.idle_known ? std::optional(share) : std::nullopt;
}

std::optional<double> slowdown_of(const LiveRank& rank) {
  const LiveNumbers& numbers = rank.numbers();
  return numbers.knows_slowdown() ? std::optional(numbers.slowdown) : std::nullopt;
}

std::optional<double> share_of_causes(const LiveRank& rank, std::initializer_list<Cause> causes) {
  Duration sum{};
  for (const Cause cause : causes) sum += Duration(rank.numbers().idle_by_cause[static_cast<std::size_t>(cause)]);
  if (!rank.idle_known || rank.numbers().idle <= 0) return std::nullopt;
  return static_cast<double>(sum.count()) / static_cast<double>(rank.numbers().idle);
}

std::string waits_cell(const LiveRank& rank, bool /*utf8*/) {
  if (rank.waits_for.name.empty()) return "-";
  const std::string text = rank.waits_for.name + formatted(" %.0f%%", 100 * rank.waits_for.share);
  return text.size() <= waits_width ? text : rank.waits_for.name;  // half a number would be another one
}

std::string memory_cell(const LiveRank& rank, bool /*utf8*/) {
  return rank.numbers().memory_known != 0 ? short_bytes(rank.numbers().memory_reserved) : "-";
}

std::string forecast_cell(const LiveRank& rank, bool /*utf8*/) {
  return percent(rank.numbers().forecasts > 0 ? std::optional(rank.numbers().forecast_error) : std::nullopt);
}

template <Cause... causes>
std::string cause_cell(const LiveRank& rank, bool /*utf8*/) {
  return percent(share_of_causes(rank, {causes...}));
}

std::string filled_cell(const LiveRank& rank, bool /*utf8*/) {
  const bool fills = rank.mode == "fill";
  return percent(fills ? known_share(rank, rank.shown().conversion()) : std::nullopt);
}

constexpr std::array columns{
    TopColumn{"RANK", 5, false, [](const LiveRank& rank, bool) { return rank.name; }, "as in weft summary"},
    TopColumn{"STATE", 9, true, &state_cell, "of filling; silent, gone, ended: of the process"},
    TopColumn{"ITERS", 8, false, [](const LiveRank& rank, bool) { return std::to_string(rank.numbers().iterations); },
              "iterations"},
    TopColumn{"LENGTH", 8, false, [](const LiveRank& rank, bool) { return short_length(rank.mean_length()); },
              "of the last 32 iterations, on average"},
    TopColumn{"IDLE%", 6, false,
              [](const LiveRank& rank, bool) {
                return percent(rank.lengths.empty() ? std::nullopt : known_share(rank, rank.recent.idle_share()));
              },
              "of these iterations"},
    TopColumn{"RUN%", 6, false,
              [](const LiveRank& rank, bool) { return percent(known_share(rank, rank.shown().idle_share())); },
              "idle share of the run without its start-up"},
    TopColumn{"FILLED%", 7, false, &filled_cell, "of the idle time of the run"},
    TopColumn{"SLOWDOWN%", 9, false, [](const LiveRank& rank, bool) { return signed_percent(slowdown_of(rank)); },
              "by filling"},
    TopColumn{"WAITS FOR", waits_width, true, &waits_cell, "the rank, or what, with its share of the idle time"},
    TopColumn{"UNSURE", 6, false,
              [](const LiveRank& rank, bool) { return percent(known_share(rank, rank.shown().uncertain_share())); },
              "uncertain share of the run, in %"},
    TopColumn{"FCAST", 6, false, &forecast_cell, "median error of the latest 64 forecasts, in %"},
    TopColumn{"RECV", 5, false, &cause_cell<Cause::receive>, "share of the idle time that waited for receives"},
    TopColumn{"SEND", 5, false, &cause_cell<Cause::send>, "for sends"},
    TopColumn{"COLL", 5, false, &cause_cell<Cause::collective>, "for collectives"},
    TopColumn{"HOST", 5, false, &cause_cell<Cause::host>, "for the host"},
    TopColumn{"OTHER", 5, false, &cause_cell<Cause::schedule, Cause::unknown>, "by the schedule, or not known"},
    TopColumn{"ON", 16, true, [](const LiveRank& rank, bool) { return rank.host; }, "host"},
    TopColumn{"GPU", 3, false, [](const LiveRank& rank, bool) { return std::to_string(rank.page.identity.device); },
              "device, as CUDA counts them in the process"},
    TopColumn{"FILL MEM", 9, false, &memory_cell, "device memory of the fill jobs"},
    TopColumn{"FILL JOB", 12, true,
              [](const LiveRank& rank, bool) { return rank.fill_jobs.empty() ? "-" : rank.fill_jobs; },
              "those that run"},
    TopColumn{"AGE", 6, false, [](const LiveRank& rank, bool) { return short_length(rank.age); }, "of its last word"},
    TopColumn{"DROPS", 6, false,
              [](const LiveRank& rank, bool) { return std::to_string(rank.numbers().dropped_records); },
              "records lost on the way into the trace"},
    TopColumn{"ITERATIONS", spark_width, true,
              [](const LiveRank& rank, bool utf8) { return sparkline(rank.lengths, spark_width, utf8); },
              "lengths of the latest ones"},
};

}  // namespace

std::span<const TopColumn> top_columns() {
  return columns;
}

std::span<const TopColumn> top_columns_in(std::size_t width) {
  std::size_t count = 0, used = 0;
  for (const TopColumn& column : columns) {
    used += column.width + (count == 0 ? 0 : 1);
    if (used > width && count > 0) break;
    ++count;
  }
  return std::span(columns).first(count);
}

std::string short_length(std::optional<Duration> length) {
  if (!length) return "-";
  struct Unit {
    double nanoseconds;
    const char* name;
  };
  const auto value = static_cast<double>(length->count());
  constexpr std::array units{Unit{3600e9, "h"}, Unit{60e9, "min"}, Unit{1e9, "s"}, Unit{1e6, "ms"}, Unit{1e3, "us"}};
  for (const Unit& unit : units) {
    const double in_unit = value / unit.nanoseconds;
    if (in_unit < 1 && unit.nanoseconds > 1e3) continue;
    return formatted(in_unit < 9.995 ? "%.2f %s" : in_unit < 99.95 ? "%.1f %s" : "%.0f %s", in_unit, unit.name);
  }
  return "-";
}

std::string percent(std::optional<double> share) {
  return share ? formatted(*share < 9.9995 ? "%.1f" : "%.0f", 100 * *share) : "-";
}

std::string signed_percent(std::optional<double> share) {
  return share ? formatted("%+.2f", 100 * *share) : "-";
}

std::string short_bytes(std::int64_t bytes) {
  constexpr std::array names{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t name = 0;
  for (; value >= 1000 && name + 1 < names.size(); ++name) value /= 1024;
  return formatted(value < 10 && name > 0 ? "%.1f %s" : "%.0f %s", value, names[name]);
}

std::string sparkline(std::span<const Duration> lengths, std::size_t width, bool utf8) {
  constexpr std::array bars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, levels{"_", ".", "-", "~", "=", "+", "*", "#"};
  if (lengths.size() > width) lengths = lengths.last(width);
  if (lengths.empty()) return "";
  const auto [least, most] = std::ranges::minmax(lengths);
  // Iterations that are alike are a flat line: what is less than a tenth of the length is not made to look large.
  const double range = std::max(static_cast<double>((most - least).count()), 0.1 * static_cast<double>(most.count()));
  std::string line;
  for (const Duration length : lengths) {
    const double part = range > 0 ? static_cast<double>((length - least).count()) / range : 0;
    const auto level = std::min(static_cast<std::size_t>(part * bars.size()), bars.size() - 1);
    line += utf8 ? bars[level] : levels[level];
  }
  return line;
}

std::string in_width(std::string_view text, std::size_t width) {
  std::string result;
  while (!text.empty() && result.size() < width) {
    const std::size_t length = std::max<std::size_t>(utf8_sequence_length(text), 1);
    result += length == 1 && static_cast<unsigned char>(text[0]) < 0x80 ? text[0] : '?';
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace weft::cli
