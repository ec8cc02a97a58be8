// weft config: the options with value, default, source and meaning, from the one table. Advanced ones only with --all
// or where they are set, internal ones not at all. With --markdown it writes docs/options.md.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/options_page.h"
#include "cli/parse.h"
#include "runner/options/options.h"

namespace weft::cli {
namespace {

int width(std::size_t count) {
  return static_cast<int>(count);
}

std::string shown(const std::string& text) {
  return text.empty() ? "-" : text;
}

bool is_shown(const OptionValue& value, bool all) {
  const Standing standing = value.option->standing;
  return standing == Standing::stable || (standing == Standing::advanced && (all || value.source != Source::built_in));
}

void print_table(const ParsedOptions& parsed, bool all) {
  std::vector<const OptionValue*> rows;
  std::size_t name_width = 8, value_width = 5, default_width = 7;
  for (const OptionValue& value : parsed.values) {
    if (!is_shown(value, all)) continue;
    rows.push_back(&value);
    name_width = std::max(name_width, std::string(value.option->variable).size());
    value_width = std::max(value_width, value.text.size());
    default_width = std::max(default_width, std::string(value.option->fallback).size());
  }
  std::printf("%-*s  %-*s  %-*s  %s\n", width(name_width), "variable", width(value_width), "value",
              width(default_width), "default", "source");
  for (const OptionValue* const value : rows)
    std::printf("%-*s  %-*s  %-*s  %s\n    %s\n    %s, %s\n", width(name_width), value->option->variable,
                width(value_width), shown(value->text).c_str(), width(default_width),
                shown(value->option->fallback).c_str(), name_of(value->source), value->option->help,
                flag_of(*value->option).c_str(), accepted_values(*value->option).c_str());
  if (!all) std::puts("advanced options: weft config --all");
}

void print_json(const ParsedOptions& parsed) {
  nlohmann::ordered_json result{{"options", nlohmann::ordered_json::array()}, {"warnings", parsed.warnings}};
  for (const OptionValue& value : parsed.values)
    result["options"].push_back({{"name", value.option->name},
                                 {"variable", value.option->variable},
                                 {"flag", flag_of(*value.option)},
                                 {"type", value.option->type},
                                 {"standing", name_of(value.option->standing)},
                                 {"accepted", accepted_values(*value.option)},
                                 {"value", value.text},
                                 {"default", value.option->fallback},
                                 {"source", name_of(value.source)},
                                 {"meaning", value.option->help}});
  std::printf("%s\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace

int config_verb(const Arguments& arguments) {
  bool all = false, json = false, markdown = false;
  CLI::App app("Lists the options: value, default, source, meaning. Mistakes in variables are reported on stderr.",
               "weft config");
  app.add_flag("--all", all, "Advanced options too. Without it only those of them that are set.");
  const auto json_flag = app.add_flag("--json", json, "One JSON object, with all options and the warnings in it.");
  app.add_flag("--markdown", markdown, "The page docs/options.md, whatever the environment says.")->excludes(json_flag);
  if (const auto code = parse(app, arguments)) return *code;
  if (markdown) {
    std::fputs(options_markdown().c_str(), stdout);
    return 0;
  }
  const ParsedOptions parsed = parse_options(environment_variables());
  if (json) {
    print_json(parsed);
    return 0;
  }
  print_table(parsed, all);
  for (const std::string& warning : parsed.warnings) warn(warning);
  return 0;
}

}  // namespace weft::cli
