// The columns of `weft top`, in the order in which they stand and in which they find room: as many as fit are shown.
//
// Used by the screen and by the plain table. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "trace/live/live_run.h"

namespace weft::cli {

struct TopColumn {
  const char* title;
  std::size_t width;
  bool is_left;  // its text begins at the left; numbers end at the right
  std::string (*cell)(const LiveRank& rank, bool utf8);
  const char* meaning;  // for the help
};

std::span<const TopColumn> top_columns();
// The first ones, as many as have room in so many columns of the terminal.
std::span<const TopColumn> top_columns_in(std::size_t width);

// "152 ms", with three digits. "-": it is not known.
std::string short_length(std::optional<Duration> length);
// "12.3"; "-": it is not known.
std::string percent(std::optional<double> share);
// "+0.12"; likewise.
std::string signed_percent(std::optional<double> share);
std::string short_bytes(std::int64_t bytes);

// The lengths as a row of bars, the shortest of them low, the latest at the right.
std::string sparkline(std::span<const Duration> lengths, std::size_t width, bool utf8);

// What is no ASCII becomes '?': each character then has one column. Cut off at the width.
std::string in_width(std::string_view text, std::size_t width);

}  // namespace weft::cli
