// The page of all options, docs/options.md, from the option table. The man page weft-options(7) has the same
// introduction and the same sections.
//
// Used by weft config and by man_page.cpp. Pure.
#pragma once

#include <array>
#include <string>

#include "runner/options/options.h"

namespace weft::cli {

extern const char* const options_introduction;  // Markdown

struct OptionSection {
  const char* title;
  const char* text;  // Markdown
  Standing standing;
};
inline constexpr std::array option_sections{
    OptionSection{"Stable", "These keep their names and meanings.", Standing::stable},
    OptionSection{"Advanced", "These tune Weft and may change with a release. `weft config` lists them with `--all`.",
                  Standing::advanced},
    OptionSection{"Internal", "Parts of Weft pass these to each other.", Standing::internal},
};

std::string options_markdown();

}  // namespace weft::cli
