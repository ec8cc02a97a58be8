// The screen of `weft top` as lines of text with styles: from the run, the reader's view and the size of the terminal.
//
// Used by the terminal, by `weft top --once` and by tests. Pure: the same in, the same out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/top/view.h"
#include "trace/live/live_run.h"

namespace weft::cli {

enum class TopStyle : std::uint8_t { plain, bold, dim, yellow, red, head };
struct TopSpan {
  std::string text;
  TopStyle style = TopStyle::plain;
};
using TopLine = std::vector<TopSpan>;

struct TopSize {
  std::size_t columns = 80, lines = 24;
};

struct TopLook {
  std::string place;  // folder of the run, printable

  bool utf8 = false;  // bars of block characters, else of ASCII
};

// As many lines as the terminal has; those at the end are the keys. A scroll position beyond the list is put right.
std::vector<TopLine> screen_of(const LiveRun& run, const TopView& view, const TopLook& look, const TopSize& size);
// Rows of the list that have room.
std::size_t page_of(const LiveRun& run, const TopSize& size);

// All rows, all columns that fit, all notes.
std::string table_of(const LiveRun& run, const TopView& view, const TopLook& look, std::size_t width);

// A reader has to know this beside the numbers: ranks that are gone or silent, filling that is over and why.
std::vector<std::string> top_notes(const LiveRun& run);

std::string plain(const TopLine& line);

}  // namespace weft::cli
