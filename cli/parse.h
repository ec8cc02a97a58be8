// Arguments that the verbs have in common, read with CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/verb.h"
#include "runner/options/options.h"

namespace weft::cli {

// Nothing when the arguments are good; else the exit code, help or complaint being printed already.
std::optional<int> parse(CLI::App& app, const Arguments& arguments);

// The flag of `weft run` for an option: "--reserve-sms".
std::string flag_of(const OptionInfo& option);

}  // namespace weft::cli
