// Help goes to stdout and is a success; a mistake is one line on stderr.
#include "cli/parse.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <span>
#include <vector>

#include "cli/candidates.h"
#include "cli/man_page.h"
#include "runner/options/nearest.h"

namespace weft::cli {
namespace {

void give_help_flags(CLI::App& app) {
  app.set_help_flag("-h,--help", "This text.");
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) give_help_flags(*command);
}

// That command of a verb which the arguments name, or the verb itself.
const CLI::App& asked_for(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  return commands.empty() ? app : asked_for(*commands.back());
}

// The command of a verb has the flags of the verb, too.
bool knows(const CLI::App& app, const std::string& flag) {
  return app.get_option_no_throw(flag) != nullptr || (app.get_parent() != nullptr && knows(*app.get_parent(), flag));
}

// The first flag that the verb does not have; "": they all are known.
std::string unknown_flag(const CLI::App& app, const Arguments& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string flag = argument.substr(0, argument.find('='));
    if (flag.starts_with("--") && !knows(app, flag)) return flag;
  }
  return "";
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

// Where a command of the verb is wanted: the word in its place, which is none. "": there is none. A word behind a flag
// is taken for its value.
std::string unknown_command(const std::vector<std::string>& commands, const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_value = i > 0 && arguments[i - 1].starts_with("-") && arguments[i - 1].find('=') == std::string::npos;
    if (!is_value && !arguments[i].starts_with("-"))
      return std::ranges::find(commands, arguments[i]) == commands.end() ? arguments[i] : "";
  }
  return "";
}

std::string no_command_text(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> commands = command_names(app);
  if (commands.empty()) return "'weft help" + full_name(app).substr(4) + "' takes no more words; '" + word + "' is one";
  return "'" + word + "' is not a command of '" + full_name(app) + "'" + did_you_mean(nearest(word, commands)) +
         "; see '" + full_name(app) + " --help'";
}

// CLI11's own words where it is no name that does not exist.
std::string mistake(const CLI::App& app, const Arguments& arguments, const CLI::ParseError& error) {
  const CLI::App& asked = asked_for(app);
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (const std::string flag = unknown_flag(asked, arguments); is_extra && !flag.empty())
    return unknown_flag_text(asked, flag);
  const std::vector<std::string> commands = command_names(asked);
  if (const std::string word = unknown_command(commands, arguments); !commands.empty() && !word.empty())
    return no_command_text(asked, word);
  if (!commands.empty() && asked.get_subcommands().empty() &&
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return "a command is missing; see '" + full_name(asked) + " --help'";
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text + "; see '" + app.get_name() + " --help'";
}

// `weft help VERB [COMMAND]`. Words that name no command are refused, never taken for a command line.
int print_long_help(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty()) {
    std::fputs(long_help(app).c_str(), stdout);
    return succeeded;
  }
  if (const CLI::App* const command = find_command(app, words.front()); command != nullptr)
    return print_long_help(*command, words.subspan(1));
  complain(no_command_text(app, words.front()));
  return wrong_usage;
}

int print_description(const CLI::App& app, const Arguments& arguments) {
  const std::span words = std::span(arguments).subspan(1);
  if (arguments.front() == long_help_flag) return print_long_help(app, words);
  const bool is_man_page = arguments.front() == man_page_flag;
  std::fputs((is_man_page ? man_page(app) : text_of(candidates(app, {words.begin(), words.end()}))).c_str(), stdout);
  return succeeded;
}

}  // namespace

bool asks_for_description(const Arguments& arguments) {
  if (arguments.empty()) return false;
  const std::string& flag = arguments.front();
  return flag == long_help_flag || flag == man_page_flag || flag == completion_flag;
}

std::optional<int> parse(CLI::App& app, const Arguments& arguments) {
  give_help_flags(app);
  if (asks_for_description(arguments)) return print_description(app, arguments);
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::fputs(short_help(asked_for(app)).c_str(), stdout);
    return succeeded;
  } catch (const CLI::ParseError& error) {
    complain(mistake(app, arguments, error));
    return wrong_usage;
  }
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* const option : app.get_options())
    for (const std::string& name : option->get_lnames())
      if (!option->get_group().empty()) flags.push_back(name);
  if (app.get_parent() == nullptr) return flags;
  const std::vector<std::string> of_verb = flags_of(*app.get_parent());
  flags.insert(flags.end(), of_verb.begin(), of_verb.end());
  return flags;
}

std::string unknown_flag_text(const CLI::App& app, const std::string& flag) {
  std::optional<std::string> meant;
  if (flag.starts_with("--")) meant = nearest(flag.substr(2), flags_of(app));
  if (meant) meant->insert(0, "--");
  return "'" + flag + "' is not an option of '" + full_name(app) + "'" + did_you_mean(meant) + "; see '" +
         full_name(app) + " --help'";
}

std::string flag_of(const OptionInfo& option) {
  std::string flag = option.name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return "--" + flag;
}

std::string value_name_of(const OptionInfo& option) {
  const std::string type = option.type;
  if (type == "Flag") return "on|off";
  std::string name;
  for (const char c : type) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string help_of(const OptionInfo& option) {
  const bool is_set = option.fallback[0] != '\0';
  return std::string(option.help) + "\n" + option.variable + ": " + accepted_values(option) +
         (is_set ? "." : "; not set by default.");
}

}  // namespace weft::cli
