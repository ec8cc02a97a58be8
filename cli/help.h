// The help of a verb in two lengths, from the one description of its options that CLI11 holds: `weft VERB --help` fits
// a screen, `weft help VERB` is the long page. Of each text the first sentence is the short form, with the default in
// brackets where it fits on the line; of a verb's description the first paragraph is. Options in the group of advanced
// ones are on the long page only, those without a group nowhere.
//
// Used by parse() and by the exit codes' page. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/description.h"

namespace weft::cli {

inline constexpr std::size_t help_width = 80;

std::string short_help(const CLI::App& app);
std::string long_help(const CLI::App& app);

// Lines of at most so many columns; a word that is longer has a line of its own. Line breaks of the text stay.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

// `head`, and from column `indent` on the text, in as many lines as it needs.
std::string in_columns(const std::string& head, const std::string& text, std::size_t indent);

}  // namespace weft::cli
