// See the header.
#include "cli/manual.h"

#include <algorithm>
#include <cstdio>

#include "cli/candidates.h"
#include "cli/man_page.h"
#include "cli/parse.h"

namespace weft::cli {
namespace {

constexpr const char* overview_page = "weft.1";
constexpr const char* options_page = "weft-options.7";

std::string page_of(const Verb& verb) {
  return "weft-" + std::string(verb.name) + ".1";
}

// `weft help` is described by the overview, and by no options.
bool has_page(const Verb& verb) {
  return verb.name != std::string(help_name);
}

std::vector<Candidate> names_of(std::span<const Verb> verbs) {
  std::vector<Candidate> names;
  for (const Verb& verb : verbs) names.push_back({verb.name, verb.summary});
  return names;
}

int print(const Candidates& candidates) {
  std::fputs(text_of(candidates).c_str(), stdout);
  return succeeded;
}

// Of `weft help`: verbs, and pages that are none.
int print_pages(std::span<const Verb> verbs, const Arguments& words) {
  if (words.size() != 1) return succeeded;
  std::vector<Candidate> names = names_of(verbs);
  names.push_back({exit_codes_name, "of all verbs"});
  return print({beginning_with(words.front(), names)});
}

}  // namespace

int print_man_page(std::span<const Verb> verbs, const Arguments& arguments) {
  if (arguments.empty()) {
    std::printf("%s\n%s\n", overview_page, options_page);
    for (const Verb& verb : verbs)
      if (has_page(verb)) std::printf("%s\n", page_of(verb).c_str());
    return succeeded;
  }
  const std::string& name = arguments.front();
  const auto verb =
      std::ranges::find_if(verbs, [&](const Verb& each) { return has_page(each) && page_of(each) == name; });
  if (verb != verbs.end()) return verb->run({man_page_flag});
  if (name != overview_page && name != options_page) {
    complain("there is no man page " + name);
    return wrong_usage;
  }
  std::fputs((name == overview_page ? overview_man_page(verbs) : options_man_page()).c_str(), stdout);
  return succeeded;
}

int print_candidates(std::span<const Verb> verbs, const Arguments& words) {
  if (words.empty()) return succeeded;
  if (words.size() == 1) return print({beginning_with(words.front(), names_of(verbs))});
  if (words.front() == help_name) return print_pages(verbs, {words.begin() + 1, words.end()});
  const auto verb = std::ranges::find(verbs, words.front(), &Verb::name);
  if (verb == verbs.end()) return succeeded;
  Arguments of_verb(words);
  of_verb.front() = completion_flag;
  return verb->run(of_verb);
}

}  // namespace weft::cli
