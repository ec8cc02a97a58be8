// What the verbs have in common in reading their arguments with CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "cli/verb.h"

namespace weft::cli {

// Nothing when the arguments are good; else the exit code, help or complaint being printed already.
std::optional<int> parse(CLI::App& app, const Arguments& arguments);

}  // namespace weft::cli
