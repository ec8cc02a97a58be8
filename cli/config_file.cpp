// See config_file.h.
#include "cli/config_file.h"

#include <toml++/toml.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "cli/parse.h"
#include "runner/options/nearest.h"
#include "trace/read/printable.h"

namespace weft::cli {
namespace {

[[noreturn]] void refuse(const std::string& path, std::size_t line, const std::string& why) {
  throw CLI::ValidationError(printable(path) + (line == 0 ? "" : ":" + std::to_string(line)) + ": " + why);
}

toml::table table_of(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(path, 0, "it is a folder");
  std::ifstream file(path);
  if (!file) refuse(path, 0, std::strerror(errno));
  const std::string content{std::istreambuf_iterator<char>(file),
                            {}};  // of a pipe, too: the parser would go back in it
  try {
    return toml::parse(content, path);
  } catch (const toml::parse_error& error) {
    refuse(path, error.source().begin.line, printable(error.description()));
  }
}

// As it would stand on the command line. Nothing: it is a table, a time, or a list in a list.
std::optional<std::string> text_of(const toml::node& value) {
  if (const auto* const text = value.as_string()) return text->get();
  if (!value.is_number() && !value.is_boolean()) return std::nullopt;
  if (const auto* const known = value.as_boolean()) return known->get() ? "true" : "false";
  if (const auto* const known = value.as_integer()) return std::to_string(known->get());
  // Without an exponent, which not every flag takes. The smallest number has 1074 digits behind the point.
  std::array<char, 1100> text{};
  const double number = value.as_floating_point()->get();
  return std::string(text.data(), std::to_chars(text.begin(), text.end(), number, std::chars_format::fixed).ptr);
}

// Nothing: it cannot be the value of a flag.
std::optional<std::vector<std::string>> texts_of(const toml::node& value) {
  std::vector<std::string> texts;
  const toml::array* const list = value.as_array();
  for (std::size_t i = 0; i < (list == nullptr ? 1 : list->size()); ++i) {
    const std::optional<std::string> text = text_of(list == nullptr ? value : *list->get(i));
    if (!text) return std::nullopt;
    texts.push_back(*text);
  }
  return texts.empty() ? std::nullopt : std::optional(texts);
}

void give(CLI::Option& option, const std::string& key, const std::vector<std::string>& texts) {
  const bool is_flag = option.get_expected_min() == 0;
  if (is_flag && texts.size() > 1) throw CLI::ValidationError("'" + key + "' has to be true or false");
  if (is_flag)
    option.add_result(option.get_flag_value(key, texts.front()));
  else
    option.add_result(texts);
  option.run_callback();  // CLI11 may have passed by it
}

void take_flags(CLI::App& app, const std::string& path) {
  for (const auto& [name, value] : table_of(path)) {
    const std::string key(name.str());
    const std::size_t line = value.source().begin.line;
    CLI::Option* const option = app.get_option_no_throw("--" + key);
    if (value.is_table() || value.is_array_of_tables())
      refuse(path, line, "'" + printable(key) + "' is a table, and flags stand in none: stages = 8 is one");
    if (option == nullptr || !option->get_configurable())
      refuse(path, line,
             "'" + printable(key) + "' is not a flag of '" + full_name(app) + "'" +
                 did_you_mean(nearest(key, flags_of(app))));
    const auto texts = texts_of(value);
    if (!texts) refuse(path, line, "'" + key + "' has to be a text, a number, true, false, or a list of them");
    if (!option->empty()) continue;
    try {
      give(*option, key, *texts);
    } catch (const CLI::ParseError& error) {
      refuse(path, line, error.what());
    }
  }
}

}  // namespace

CLI::Option* add_config_file(CLI::App& app, const std::string& about) {
  return app
      .add_option_function<std::string>(
          "--config", [&app](const std::string& path) { take_flags(app, path); }, about)
      ->type_name("FILE")
      ->configurable(false);
}

}  // namespace weft::cli
