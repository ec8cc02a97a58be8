// The wishes of the reader of `weft top`: order, filter, place in the list; and what each key changes in them.
//
// Used by the verb and by tests, on one thread. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/export/number_ranges.h"
#include "trace/live/live_run.h"

namespace weft::cli {

// By the rank's number; most idle, most filled, most slowed down first; the fewest iterations first.
enum class TopSort : std::uint8_t { rank, idle, filled, slowdown, iteration };
inline constexpr std::array top_sort_names{"rank", "idle", "filled", "slowdown", "iteration"};
std::optional<TopSort> top_sort_named(std::string_view name);

struct TopView {
  TopSort sort = TopSort::rank;
  bool reverse = false;
  std::string filter;              // "": all ranks are shown
  std::vector<NumberRange> ranks;  // of --ranks; empty: all
  std::size_t first = 0;           // row of the list that stands on top
  bool paused = false, help = false;
  std::optional<std::string> typed;  // the filter that is being typed
};

// "0,4-7": these ranks. Any other text: what host, state, name or fill job contains, whatever the case.
bool passes(const LiveRank& rank, std::string_view filter);

// The ranks that are shown, in their order. Those of which the number is not known come last.
std::vector<const LiveRank*> rows_of(const LiveRun& run, const TopView& view);

enum class TopKey : std::uint8_t { none, character, up, down, page_up, page_down, home, end, enter, escape, backspace };
struct TopPress {
  TopKey key = TopKey::none;
  char character = 0;
};

// `rows`: in the list; `page`: that fit. False: the reader wants to leave.
bool take(TopView& view, const TopPress& press, std::size_t rows, std::size_t page);

}  // namespace weft::cli
