// The description of a verb as texts: all that CLI11 knows of its options, in the words of both lengths of help, of the
// man pages and of completion.
//
// Used by those. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace weft::cli {

inline constexpr const char* advanced_options = "Advanced options";  // a group of CLI11's

using OptionList = std::vector<const CLI::Option*>;

// In the order of their description, help itself last. Those without a group are internal, and not among them.
OptionList positionals_of(const CLI::App& app);
OptionList stable_options_of(const CLI::App& app);
OptionList advanced_options_of(const CLI::App& app);

// "submit", "list" of weft jobs.
std::vector<const CLI::App*> commands_of(const CLI::App& app);
const CLI::App* find_command(const CLI::App& app, const std::string& name);  // nullptr: there is none

// "weft jobs submit"
std::string full_name(const CLI::App& app);
// "jobs", of weft jobs submit too.
std::string verb_of(const CLI::App& app);

// "weft jobs submit [OPTIONS] JOB"
std::string usage_of(const CLI::App& app);
// "--number INT", "-q, --quiet", "[DIR...]"
std::string head_of(const CLI::Option& option);

// "BYTES" and "in [0 - 1]": CLI11 joins the name of a type and what its values are held to with a colon.
struct ValueType {
  std::string name, bounds;
};
ValueType type_of(const CLI::Option& option);
bool takes_value(const CLI::Option& option);
// "--print-env[=FORMAT]": its value stands behind "=", never in the next word. The name of its type is in brackets.
bool has_optional_value(const CLI::Option& option);

// Where it has a fixed set of values.
std::vector<std::string> values_of(const CLI::Option& option);

// Its help with bounds, default and what it goes with, a line each.
std::string all_about(const CLI::Option& option);

// Up to the first full stop before a blank, or all of it.
std::string first_sentence(const std::string& text);

}  // namespace weft::cli
