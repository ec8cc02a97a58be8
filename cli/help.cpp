// See the header.
#include "cli/help.h"

#include <algorithm>
#include <sstream>

#include "cli/exit_codes.h"

namespace weft::cli {
namespace {

constexpr std::size_t widest_head = 30;

std::string usage(const CLI::App& app) {
  return "Usage: " + usage_of(app) + "\n";
}

std::string lines(const std::vector<std::string>& texts, std::size_t indent) {
  std::string all;
  for (const std::string& text : texts) all += (text.empty() ? "" : std::string(indent, ' ') + text) + "\n";
  return all;
}

std::string section(const char* title, const OptionList& options) {
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
  OptionList options = positionals_of(app);
  const OptionList flags = stable_options_of(app);
  options.insert(options.end(), flags.begin(), flags.end());
  std::size_t indent = 0;
  for (const CLI::Option* const option : options) indent = std::max(indent, head_of(*option).size());
  indent = std::min(indent, widest_head) + 4;
  std::string text = usage(app) + lines(wrapped(description.substr(0, description.find("\n\n")), help_width), 0);
  text += commands_section(app) + "\n";
  for (const CLI::Option* const option : options)
    text += in_columns("  " + head_of(*option), short_text(*option, help_width - indent), indent);
  return text + pointer(app, advanced_options_of(app).size());
}

std::string long_help(const CLI::App& app) {
  return usage(app) + "\n" + lines(wrapped(app.get_description(), help_width), 0) + commands_section(app) +
         section("Arguments", positionals_of(app)) + section("Options", stable_options_of(app)) +
         section(advanced_options, advanced_options_of(app)) + exit_codes_section(app);
}

}  // namespace weft::cli
