// Colours of the output of the weft command: whether there are any, and which lines have one. The text is complete
// without them, and the same.
//
// Used by the verbs whose text people read, and for the lines on stderr. One place decides: a terminal that can show
// them, and nobody who has set NO_COLOR.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "runner/options/variables.h"

namespace weft::cli {

// Pure. TERM names what the terminal can do: none has nobody to look at it, "dumb" can show nothing but text.
bool wants_colours(bool is_terminal, const Variables& variables);

// Of stdout or stderr.
bool has_colours(std::FILE* out);

enum class Ink : std::uint8_t { bold, yellow, red };

std::string inked(const std::string& text, Ink ink);

// A line that begins with this, blanks in front of it aside.
struct InkedLine {
  std::string_view begin;
  Ink ink = Ink::bold;
  bool whole = true;  // false: only its beginning
};

// The first line, which is bold, and those of the list. Pure.
std::string with_ink(const std::string& text, std::span<const InkedLine> rules);

// Of all verbs: heads of tables, and what a reader must not miss.
std::span<const InkedLine> inked_lines();

// On stdout, with colours where it has them.
void print_inked(const std::string& text);

}  // namespace weft::cli
