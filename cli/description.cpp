// See the header.
#include "cli/description.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace weft::cli {
namespace {

bool is_advanced(const CLI::Option& option) {
  return option.get_group() == advanced_options;
}

// In the order of their description, help itself last. Hidden ones have no group.
OptionList options_of(const CLI::App& app, bool positional, bool advanced) {
  OptionList options = app.get_options([&](const CLI::Option* option) {
    return !option->get_group().empty() && option->get_positional() == positional && is_advanced(*option) == advanced;
  });
  std::ranges::stable_partition(options, [&](const CLI::Option* option) { return option != app.get_help_ptr(); });
  return options;
}

// Of "{a,b}".
std::vector<std::string> words_in(const std::string& bounds) {
  if (!bounds.starts_with("{") || !bounds.ends_with("}")) return {};
  std::istringstream list(bounds.substr(1, bounds.size() - 2));
  std::vector<std::string> words;
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

// "one of a, b", "from 1 to 1024"; as CLI11 has it where it is something else.
std::string bounds_text(const std::string& bounds) {
  const std::size_t in = bounds.find("in ["), to = bounds.find(" - ", in), end = bounds.rfind(']');
  if (in != std::string::npos && to != std::string::npos && end != std::string::npos)
    return "From " + bounds.substr(in + 4, to - in - 4) + " to " + bounds.substr(to + 3, end - to - 3) + ".";
  if (bounds == "POSITIVE") return "More than 0.";
  if (bounds == "NONNEGATIVE") return "0 or more.";
  std::string list;
  for (const std::string& word : words_in(bounds)) list += (list.empty() ? "One of " : ", ") + word;
  return list.empty() ? bounds : list + ".";
}

// By their names: CLI11 orders them by where they lie.
std::string names_of(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;
  for (const CLI::Option* const option : options) names.insert(option->get_name());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

OptionList positionals_of(const CLI::App& app) {
  return options_of(app, true, false);
}

OptionList stable_options_of(const CLI::App& app) {
  return options_of(app, false, false);
}

OptionList advanced_options_of(const CLI::App& app) {
  return options_of(app, false, true);
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* const command : commands_of(app))
    if (command->get_name() == name) return command;
  return nullptr;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string verb_of(const CLI::App& app) {
  if (app.get_parent() != nullptr) return verb_of(*app.get_parent());
  return app.get_name().substr(app.get_name().find(' ') + 1);
}

std::string usage_of(const CLI::App& app) {
  std::string line = full_name(app) + " [OPTIONS]";
  for (const CLI::Option* const option : positionals_of(app)) line += " " + head_of(*option);
  if (!commands_of(app).empty()) line += " COMMAND ...";
  if (app.get_prefix_command()) line += " [--] COMMAND [ARGUMENTS]...";
  return line;
}

std::string head_of(const CLI::Option& option) {
  if (option.get_positional()) {
    const std::string name = option.get_name(true) + (option.get_expected_max() > 1 ? "..." : "");
    return option.get_required() ? name : "[" + name + "]";
  }
  std::string head = option.get_name(false, true);
  for (std::size_t at = 0; (at = head.find(',', at)) != std::string::npos; at += 2) head.replace(at, 1, ", ");
  if (!takes_value(option)) return head;
  return head + (has_optional_value(option) ? "" : " ") + type_of(option).name;
}

ValueType type_of(const CLI::Option& option) {
  const std::string all = option.get_type_name();
  const std::size_t colon = all.find(':');
  if (colon == std::string::npos) return {all, ""};
  return {all.substr(0, colon), all.substr(colon + 1)};
}

bool takes_value(const CLI::Option& option) {
  return option.get_expected_max() > 0;
}

bool has_optional_value(const CLI::Option& option) {
  return type_of(option).name.starts_with("[=");
}

std::vector<std::string> values_of(const CLI::Option& option) {
  return words_in(type_of(option).bounds);
}

std::string all_about(const CLI::Option& option) {
  std::string text = option.get_description();
  if (const std::string bounds = type_of(option).bounds; !bounds.empty()) text += "\n" + bounds_text(bounds);
  if (const std::string usual = option.get_default_str(); !usual.empty()) text += "\nDefault: " + usual + ".";
  if (const std::string names = names_of(option.get_needs()); !names.empty()) text += "\nOnly with " + names + ".";
  if (const std::string names = names_of(option.get_excludes()); !names.empty()) text += "\nNot with " + names + ".";
  return text;
}

std::string first_sentence(const std::string& text) {
  const std::size_t end = std::min(text.find(". "), text.find(".\n"));
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

}  // namespace weft::cli
