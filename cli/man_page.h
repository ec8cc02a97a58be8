// Man pages in roff, from the description of a verb that CLI11 holds and from the option table: nothing of them is
// written by hand.
//
// Used by parse(), for a verb, and by manual.cpp. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "cli/verb.h"

namespace weft::cli {

// weft(1): the verbs, and where more is.
std::string overview_man_page(std::span<const Verb> verbs);

// weft-run(1). Commands of the verb are sections of its page.
std::string man_page(const CLI::App& app);

// weft-options(7): every option as a variable.
std::string options_man_page();

// Text as roff: nothing in it is taken for a request or an escape.
std::string roff_text(const std::string& text);

// Paragraphs of Markdown, with inline code and links, as roff.
std::string roff_of_markdown(const std::string& text);

}  // namespace weft::cli
