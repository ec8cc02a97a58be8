// Arguments that the verbs have in common, read with CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/help.h"
#include "cli/verb.h"
#include "runner/options/options.h"

namespace weft::cli {

// In front of all other arguments each of these asks for the description of the verb, which then does nothing else.
// They are no options of the verb, so they stand in no help.
inline constexpr const char* long_help_flag = "--help-all";  // of the command of the verb that the words behind it name
inline constexpr const char* man_page_flag = "--man-page";   // in roff
inline constexpr const char* completion_flag = "--complete";  // what the last of the words behind it may become
bool asks_for_description(const Arguments& arguments);

// Nothing when the arguments are good; else the exit code, help or complaint being printed already.
std::optional<int> parse(CLI::App& app, const Arguments& arguments);

// The names of all flags that the help has, without dashes; of a command of a verb those of the verb, too.
std::vector<std::string> flags_of(const CLI::App& app);

// Why a flag is wrong, with the one that may have been meant.
std::string unknown_flag_text(const CLI::App& app, const std::string& flag);

// The flag of `weft run` for an option: "--reserve-sms".
std::string flag_of(const OptionInfo& option);

// How help names its value: "DURATION", "on|off".
std::string value_name_of(const OptionInfo& option);

// Its help, and on a line of its own the variable and the values that it may have. Its default goes to CLI11, as that
// of other options.
std::string help_of(const OptionInfo& option);

}  // namespace weft::cli
