// See view.h.
#include "cli/top/view.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace weft::cli {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool is_in(const std::vector<NumberRange>& ranges, std::int64_t number) {
  return std::ranges::any_of(ranges, [&](const NumberRange& range) { return range.contains(number); });
}

// The one that comes first has the largest.
double worth(const LiveRank& rank, TopSort sort) {
  constexpr double unknown = -std::numeric_limits<double>::infinity();
  switch (sort) {
    case TopSort::idle:
      return rank.idle_known ? rank.shown().idle_share() : unknown;
    case TopSort::filled:
      return rank.idle_known ? rank.shown().conversion() : unknown;
    case TopSort::slowdown:
      return rank.numbers().knows_slowdown() ? rank.numbers().slowdown : unknown;
    case TopSort::iteration:
      return -static_cast<double>(rank.numbers().iterations);
    case TopSort::rank:
      break;
  }
  return -static_cast<double>(rank.rank());
}

void take_typed(TopView& view, const TopPress& press) {
  if (press.key == TopKey::escape) return view.typed.reset();
  if (press.key == TopKey::enter) {
    view.filter = *view.typed;
    view.first = 0;
    return view.typed.reset();
  }
  if (press.key == TopKey::backspace && !view.typed->empty()) view.typed->pop_back();
  constexpr std::size_t most = 40;
  if (press.key == TopKey::character && std::isprint(static_cast<unsigned char>(press.character)) != 0 &&
      view.typed->size() < most)
    view.typed->push_back(press.character);
}

void move_by(TopView& view, const TopPress& press, std::size_t page) {
  const auto up = [&](std::size_t lines) { view.first -= std::min(view.first, lines); };
  if (press.key == TopKey::up) up(1);
  if (press.key == TopKey::down) ++view.first;
  if (press.key == TopKey::page_up) up(page);
  if (press.key == TopKey::page_down) view.first += page;
  if (press.key == TopKey::home) view.first = 0;
  if (press.key == TopKey::end) view.first = std::numeric_limits<std::size_t>::max() / 2;
}

}  // namespace

std::optional<TopSort> top_sort_named(std::string_view name) {
  const auto found = std::ranges::find(top_sort_names, name, [](const char* one) { return std::string_view(one); });
  if (found == top_sort_names.end()) return std::nullopt;
  return static_cast<TopSort>(found - top_sort_names.begin());
}

bool passes(const LiveRank& rank, std::string_view filter) {
  if (filter.empty()) return true;
  if (const auto ranges = parse_number_ranges(filter)) return is_in(*ranges, rank.rank());
  const std::string wanted = lower_case(filter);
  const std::string_view state = live_state_names[static_cast<std::size_t>(rank.state)];
  const std::string_view presence = live_presence_names[static_cast<std::size_t>(rank.presence)];
  return std::ranges::any_of(std::array<std::string_view, 5>{rank.host, state, presence, rank.name, rank.fill_jobs},
                             [&](std::string_view text) { return lower_case(text).find(wanted) != std::string::npos; });
}

std::vector<const LiveRank*> rows_of(const LiveRun& run, const TopView& view) {
  std::vector<const LiveRank*> rows;
  for (const LiveRank& rank : run.ranks)
    if ((view.ranks.empty() || is_in(view.ranks, rank.rank())) && passes(rank, view.filter)) rows.push_back(&rank);
  constexpr double unknown = -std::numeric_limits<double>::infinity();
  std::ranges::stable_sort(rows, [&](const LiveRank* one, const LiveRank* other) {
    const double left = worth(*one, view.sort), right = worth(*other, view.sort);
    if (left == unknown || right == unknown) return right == unknown && left != unknown;
    return view.reverse ? left < right : left > right;
  });
  return rows;
}

bool take(TopView& view, const TopPress& press, std::size_t rows, std::size_t page) {
  if (view.typed) {
    take_typed(view, press);
    return true;
  }
  const bool closes_help = view.help && press.key != TopKey::none;
  if (closes_help) {
    view.help = false;
    if (press.key == TopKey::escape) return true;
  }
  if (press.key == TopKey::escape) view.filter.clear();
  move_by(view, press, std::max<std::size_t>(page, 1));
  if (press.key == TopKey::character) {
    switch (press.character) {
      case 'q':
        return false;
      case 's':
        view.sort = static_cast<TopSort>((static_cast<std::size_t>(view.sort) + 1) % top_sort_names.size());
        break;
      case 'r':
        view.reverse = !view.reverse;
        break;
      case 'p':
      case ' ':
        view.paused = !view.paused;
        break;
      case '/':
        view.typed = view.filter;
        break;
      case 'h':
      case '?':
        view.help = !closes_help;
        break;
      default:
        break;
    }
  }
  view.first = std::min(view.first, rows > page ? rows - page : 0);
  return true;
}

}  // namespace weft::cli
