// See the header. Macros are those of man(7), which groff and mandoc know.
#include "cli/man_page.h"

#include <cctype>
#include <sstream>
#include <utility>

#include "cli/description.h"
#include "cli/exit_codes.h"
#include "cli/options_page.h"
#include "cli/parse.h"
#include "weft/version.h"

namespace weft::cli {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// A quotation mark would end an argument of a request.
std::string request(const std::string& name, const std::string& text) {
  std::string quoted;
  for (const char c : roff_text(text)) quoted += c == '"' ? "\\(dq" : std::string(1, c);
  return "." + name + " \"" + quoted + "\"\n";
}

std::string title(const std::string& name, int section, const std::string& summary) {
  return ".TH " + roff_text(upper(name)) + " " + std::to_string(section) +
         " \"\" \"Weft " WEFT_VERSION_STRING "\" \"Weft\"\n.nh\n.ad l\n.SH NAME\n" + roff_text(name) + " \\- " +
         roff_text(summary) + "\n";
}

std::string bold(const std::string& text) {
  return "\\fB" + roff_text(text) + "\\fR";
}

// "weft run" as the name of its page.
std::string page_name(std::string name) {
  for (char& c : name)
    if (c == ' ') c = '-';
  return name;
}

// A line of the text is a paragraph, an empty one nothing.
std::string paragraphs(const std::string& text, const char* between) {
  std::string roff;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) roff += (roff.empty() ? "" : between) + roff_text(line) + "\n";
  return roff;
}

std::string item(const std::string& head, const std::string& text) {
  return ".TP\n" + head + "\n" + paragraphs(text, ".br\n");
}

std::string entries(const OptionList& options) {
  std::string roff;
  for (const CLI::Option* const option : options) roff += item(bold(head_of(*option)), all_about(*option));
  return roff;
}

std::string section(const std::string& heading, const std::string& body, const char* macro = "SH") {
  return body.empty() ? "" : request(macro, heading) + body;
}

std::string exit_codes(const std::string& verb) {
  std::string roff;
  for (const ExitCode& each : exit_codes_of(verb)) roff += item(bold(std::to_string(each.code)), each.meaning);
  return roff;
}

std::string commands(const CLI::App& app) {
  std::string roff;
  for (const CLI::App* const command : commands_of(app))
    roff += section(full_name(*command),
                    bold(usage_of(*command)) + "\n.PP\n" + paragraphs(command->get_description(), ".PP\n") +
                        entries(positionals_of(*command)) + entries(stable_options_of(*command)) +
                        entries(advanced_options_of(*command)),
                    "SS");
  return roff;
}

std::string options_of_standing(Standing standing) {
  std::string roff;
  for (const OptionInfo& option : option_table()) {
    if (option.standing != standing) continue;
    const std::string usual = option.fallback;
    roff += item(bold(option.variable) + ", " + bold(flag_of(option)),
                 std::string(option.help) + "\n" + upper(accepted_values(option).substr(0, 1)) +
                     accepted_values(option).substr(1) + ". " +
                     (usual.empty() ? "Not set by default." : "Default: " + usual + "."));
  }
  return roff;
}

}  // namespace

std::string roff_text(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    const bool begins_line = roff.empty() || roff.back() == '\n';
    switch (c) {
      case '\\':
        roff += "\\e";
        break;
      case '-':
        roff += "\\-";
        break;
      case '\'':
        roff += "\\(aq";
        break;
      case '`':
        roff += "\\(ga";
        break;
      case '^':
        roff += "\\(ha";
        break;
      case '~':
        roff += "\\(ti";
        break;
      case '.':
        roff += begins_line ? "\\&." : ".";
        break;
      default:
        roff += c;
    }
  }
  return roff;
}

std::string roff_of_markdown(const std::string& text) {
  std::string roff, plain;
  const auto flush = [&] { roff += roff_text(std::exchange(plain, "")); };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t code_end = text[at] == '`' ? text.find('`', at + 1) : std::string::npos;
    if (text.compare(at, 2, "\n\n") == 0) {
      flush();
      roff += "\n.PP";  // the line break of the text follows
    } else if (code_end != std::string::npos) {
      flush();
      roff += bold(text.substr(at + 1, code_end - at - 1));
      at = code_end;
    } else if (text.compare(at, 2, "](") == 0) {
      at = text.find(')', at);
    } else if (text[at] != '[') {
      plain += text[at];
    }
  }
  flush();
  return roff;
}

std::string overview_man_page(std::span<const Verb> verbs) {
  std::string list;
  for (const Verb& verb : verbs) list += item(bold("weft " + std::string(verb.name)), verb.summary);
  return title("weft", 1, "fills the bubbles of pipeline-parallel training") +
         section("SYNOPSIS", bold("weft") + " VERB ...\n") +
         section("DESCRIPTION", "Each verb has a page of its own, such as " + bold("weft-run") +
                                    "(1), and help of two lengths:\n" + bold("weft VERB --help") + " and " +
                                    bold("weft help VERB") + ".\n") +
         section("VERBS", list) + section("EXIT STATUS", exit_codes("")) +
         section("SEE ALSO", bold("weft-run") + "(1), " + bold("weft-options") + "(7)\n");
}

std::string man_page(const CLI::App& app) {
  const std::string description = app.get_description();
  const std::string summary = first_sentence(description);
  return title(page_name(full_name(app)), 1, summary.ends_with('.') ? summary.substr(0, summary.size() - 1) : summary) +
         section("SYNOPSIS", bold(usage_of(app)) + "\n") + section("DESCRIPTION", paragraphs(description, ".PP\n")) +
         section("COMMANDS", commands(app)) + section("ARGUMENTS", entries(positionals_of(app))) +
         section("OPTIONS", entries(stable_options_of(app))) +
         section("ADVANCED OPTIONS", entries(advanced_options_of(app))) +
         section("EXIT STATUS", exit_codes(verb_of(app))) +
         section("SEE ALSO", bold("weft") + "(1), " + bold("weft-options") + "(7)\n");
}

std::string options_man_page() {
  std::string roff = title("weft-options", 7, "the options of Weft, as variables of the environment") +
                     section("DESCRIPTION", roff_of_markdown(options_introduction));
  for (const OptionSection& each : option_sections)
    roff += section(upper(each.title) + " OPTIONS",
                    roff_of_markdown(each.text) + "\n" + options_of_standing(each.standing));
  return roff +
         section("SEE ALSO", bold("weft") + "(1), " + bold("weft-run") + "(1), " + bold("weft-config") + "(1)\n");
}

}  // namespace weft::cli
