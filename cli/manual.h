// Two verbs that people do not call: `weft __man` writes the man pages at build time, `weft __complete` answers a
// shell. Both go through all verbs, so they are given the table.
#pragma once

#include <span>

#include "cli/verb.h"

namespace weft::cli {

// Without an argument: the names of all pages, a line each, as in "weft-run.1". With a name: that page.
int print_man_page(std::span<const Verb> verbs, const Arguments& arguments);

// `words`: as typed behind "weft", the last one up to the cursor.
int print_candidates(std::span<const Verb> verbs, const Arguments& words);

}  // namespace weft::cli
