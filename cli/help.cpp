// See the header.
#include "cli/help.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "cli/exit_codes.h"

namespace weft::cli {
namespace {

using Options = std::vector<const CLI::Option*>;

constexpr std::size_t widest_head = 30;

bool is_advanced(const CLI::Option& option) {
  return option.get_group() == advanced_options;
}

// In the order of their description, help itself last. Hidden ones have no group.
Options options_of(const CLI::App& app, bool positional, bool advanced) {
  Options options = app.get_options([&](const CLI::Option* option) {
    return !option->get_group().empty() && option->get_positional() == positional && is_advanced(*option) == advanced;
  });
  std::ranges::stable_partition(options, [&](const CLI::Option* option) { return option != app.get_help_ptr(); });
  return options;
}

// "BYTES" and "in [0 - 1]": CLI11 joins the name of a type and what its values are held to with a colon.
struct ValueType {
  std::string name, bounds;
};
ValueType type_of(const CLI::Option& option) {
  const std::string all = option.get_type_name();
  const std::size_t colon = all.find(':');
  if (colon == std::string::npos) return {all, ""};
  return {all.substr(0, colon), all.substr(colon + 1)};
}

std::string head_of(const CLI::Option& option) {
  if (option.get_positional()) {
    const std::string name = option.get_name(true) + (option.get_expected_max() > 1 ? "..." : "");
    return option.get_required() ? name : "[" + name + "]";
  }
  std::string head = option.get_name(false, true);
  for (std::size_t at = 0; (at = head.find(',', at)) != std::string::npos; at += 2) head.replace(at, 1, ", ");
  return option.get_expected_max() == 0 ? head : head + " " + type_of(option).name;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string usage(const CLI::App& app) {
  std::string line = "Usage: " + full_name(app) + " [OPTIONS]";
  for (const CLI::Option* const option : options_of(app, true, false)) line += " " + head_of(*option);
  if (!commands_of(app).empty()) line += " COMMAND ...";
  if (app.get_prefix_command()) line += " [--] COMMAND [ARGUMENTS]...";
  return line + "\n";
}

std::string lines(const std::vector<std::string>& texts, std::size_t indent) {
  std::string all;
  for (const std::string& text : texts) all += (text.empty() ? "" : std::string(indent, ' ') + text) + "\n";
  return all;
}

// "one of a, b", "from 1 to 1024"; as CLI11 has it where it is something else.
std::string bounds_text(const std::string& bounds) {
  const std::size_t in = bounds.find("in ["), to = bounds.find(" - ", in), end = bounds.rfind(']');
  if (in != std::string::npos && to != std::string::npos && end != std::string::npos)
    return "From " + bounds.substr(in + 4, to - in - 4) + " to " + bounds.substr(to + 3, end - to - 3) + ".";
  if (bounds == "POSITIVE") return "More than 0.";
  if (bounds == "NONNEGATIVE") return "0 or more.";
  if (!bounds.starts_with("{") || !bounds.ends_with("}")) return bounds;
  std::string list = bounds.substr(1, bounds.size() - 2);
  for (std::size_t at = 0; (at = list.find(',', at)) != std::string::npos; at += 2) list.replace(at, 1, ", ");
  return "One of " + list + ".";
}

// By their names: CLI11 orders them by where they lie.
std::string names_of(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;
  for (const CLI::Option* const option : options) names.insert(option->get_name());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::string all_about(const CLI::Option& option) {
  std::string text = option.get_description();
  if (const std::string bounds = type_of(option).bounds; !bounds.empty()) text += "\n" + bounds_text(bounds);
  if (const std::string usual = option.get_default_str(); !usual.empty()) text += "\nDefault: " + usual + ".";
  if (const std::string names = names_of(option.get_needs()); !names.empty()) text += "\nOnly with " + names + ".";
  if (const std::string names = names_of(option.get_excludes()); !names.empty()) text += "\nNot with " + names + ".";
  return text;
}

std::string section(const char* title, const Options& options) {
  if (options.empty()) return "";
  std::string text = "\n" + std::string(title) + "\n";
  for (const CLI::Option* const option : options)
    text += "  " + head_of(*option) + "\n" + lines(wrapped(all_about(*option), help_width - 6), 6);
  return text;
}

std::string commands_section(const CLI::App& app) {
  std::string text;
  for (const CLI::App* const command : commands_of(app))
    text += in_columns("  " + command->get_name(), command->get_description(), 12);
  return text.empty() ? text : "\n" + text;
}

// Of `weft jobs submit` that of `weft jobs`.
std::string verb_of(const CLI::App& app) {
  if (app.get_parent() != nullptr) return verb_of(*app.get_parent());
  return app.get_name().substr(app.get_name().find(' ') + 1);
}

std::string exit_codes_section(const CLI::App& app) {
  std::string text = "\nExit codes\n";
  for (const ExitCode& each : exit_codes_of(verb_of(app))) {
    const std::string code = std::to_string(each.code);
    text += in_columns(std::string(5 - code.size(), ' ') + code, each.meaning, 7);
  }
  return text;
}

// The first sentence, and the default where it fits on the line.
std::string short_text(const CLI::Option& option, std::size_t width) {
  const std::string text = first_sentence(option.get_description()), usual = option.get_default_str();
  const std::string whole = text + " [" + usual + "]";
  return usual.empty() || whole.size() > width ? text : whole;
}

// Where the long page is, and how much more it has.
std::string pointer(const CLI::App& app, std::size_t advanced) {
  const std::string page = "weft help" + full_name(app).substr(std::string("weft").size());
  if (advanced == 0) return "\nAll about them: " + page + "\n";
  return "\nAll about them, and " + std::to_string(advanced) + " advanced options: " + page + "\n";
}

}  // namespace

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string first_sentence(const std::string& text) {
  const std::size_t end = std::min(text.find(". "), text.find(".\n"));
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> result;
  std::istringstream paragraphs(text);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::istringstream words(paragraph);
    std::string line;
    for (std::string word; words >> word;) {
      if (!line.empty() && line.size() + 1 + word.size() > width) {
        result.push_back(line);
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    result.push_back(line);
  }
  return result;
}

std::string in_columns(const std::string& head, const std::string& text, std::size_t indent) {
  const std::vector<std::string> parts = wrapped(text, help_width - indent);
  if (head.size() + 2 > indent || parts.empty()) return head + "\n" + lines(parts, indent);
  std::string all = head + std::string(indent - head.size(), ' ') + parts.front() + "\n";
  return all + lines({parts.begin() + 1, parts.end()}, indent);
}

std::string short_help(const CLI::App& app) {
  const std::string description = app.get_description();
  Options options = options_of(app, true, false);
  const Options flags = options_of(app, false, false);
  options.insert(options.end(), flags.begin(), flags.end());
  std::size_t indent = 0;
  for (const CLI::Option* const option : options) indent = std::max(indent, head_of(*option).size());
  indent = std::min(indent, widest_head) + 4;
  std::string text = usage(app) + lines(wrapped(description.substr(0, description.find("\n\n")), help_width), 0);
  text += commands_section(app) + "\n";
  for (const CLI::Option* const option : options)
    text += in_columns("  " + head_of(*option), short_text(*option, help_width - indent), indent);
  return text + pointer(app, options_of(app, false, true).size());
}

std::string long_help(const CLI::App& app) {
  return usage(app) + "\n" + lines(wrapped(app.get_description(), help_width), 0) + commands_section(app) +
         section("Arguments", options_of(app, true, false)) + section("Options", options_of(app, false, false)) +
         section(advanced_options, options_of(app, false, true)) + exit_codes_section(app);
}

}  // namespace weft::cli
