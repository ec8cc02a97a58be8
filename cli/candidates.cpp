// See the header.
#include "cli/candidates.h"

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <string_view>

#include "cli/description.h"
#include "cli/fill_spec.h"
#include "cli/locate.h"
#include "cli/parse.h"
#include "runner/options/accepted_words.h"
#include "runner/options/options.h"

namespace weft::cli {
namespace {

bool is_flag(const std::string& word) {
  return word.size() > 1 && word.starts_with('-');
}

// A command of a verb has the flags of the verb, too.
const CLI::Option* find_flag(const CLI::App& app, const std::string& name) {
  const CLI::Option* const found = app.get_option_no_throw(name);
  if (found != nullptr || app.get_parent() == nullptr) return found;
  return find_flag(*app.get_parent(), name);
}

void add_flags(const CLI::App& app, std::vector<Candidate>& list) {
  for (const OptionList& options : {stable_options_of(app), advanced_options_of(app)})
    for (const CLI::Option* const option : options)
      for (const std::string& name : option->get_lnames())
        if (std::ranges::find(list, "--" + name, &Candidate::word) == list.end())
          list.push_back({"--" + name, first_sentence(option->get_description())});
  if (app.get_parent() != nullptr) add_flags(*app.get_parent(), list);
}

// Without the folder of Weft's libraries there are none.
void add_jobs(std::vector<Candidate>& list) {
  try {
    for (const std::string& name : own_jobs(library_directory())) list.push_back({name, "a fill job of Weft's"});
  } catch (const std::exception&) {
    return;
  }
}

// The words of the option table, of an option that is described from it.
std::vector<Candidate> words_of_table(const CLI::Option& option) {
  std::vector<Candidate> words;
  for (const OptionInfo& info : option_table())
    if (option.check_lname(flag_of(info).substr(2)) && type_of(option).name == value_name_of(info))
      for (const std::string_view word : accepted_words(info)) words.push_back({std::string(word)});
  return words;
}

template <std::size_t count>
bool is_one_of(const std::array<std::string_view, count>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// By the name of its type, of a positional without one by its own name.
Candidates values(const CLI::Option& option) {
  Candidates found;
  for (const std::string& word : values_of(option)) found.words.push_back({word});
  if (found.words.empty()) found.words = words_of_table(option);
  if (!found.words.empty()) return found;
  const std::string type = type_of(option).name, kind = type.empty() ? option.get_name(true) : type;
  static constexpr std::array<std::string_view, 4> files{"FILE", "PATH", "TEXT", "JOB"};
  static constexpr std::array<std::string_view, 4> folders{"DIR", "FOLDER", "A", "B"};
  if (is_one_of(files, kind)) found.also = AlsoOffered::files;
  if (is_one_of(folders, kind)) found.also = AlsoOffered::folders;
  if (kind == "JOB" || option.check_lname("fill")) add_jobs(found.words);
  return found;
}

// As far as the words before the last one lead.
struct Place {
  const CLI::App* app;
  const CLI::Option* value_of = nullptr;  // its value is next
  std::size_t positionals = 0;
  bool only_positionals = false;  // behind "--"
  bool in_command = false;        // of weft run
  std::size_t command_at = 0;
};

void step(Place& place, const std::string& word, std::size_t at) {
  if (place.value_of != nullptr) {
    place.value_of = nullptr;
  } else if (place.app->get_prefix_command() && (word == "--" || !is_flag(word))) {
    place.in_command = true;
    place.command_at = word == "--" ? at + 1 : at;
  } else if (word == "--") {
    place.only_positionals = true;
  } else if (is_flag(word) && !place.only_positionals) {
    const CLI::Option* const option = find_flag(*place.app, word);
    if (option != nullptr && takes_value(*option) && !has_optional_value(*option)) place.value_of = option;
  } else if (const CLI::App* const command = find_command(*place.app, word); command != nullptr) {
    place.app = command;
  } else {
    ++place.positionals;
  }
}

Place place_behind(const CLI::App& app, const Arguments& words) {
  Place place{&app};
  for (std::size_t i = 0; i + 1 < words.size() && !place.in_command; ++i) step(place, words[i], i);
  return place;
}

// "--mode=obs": the words are whole, as a shell puts them in place of the word.
Candidates values_behind_equals(const CLI::App& app, const std::string& typed) {
  const std::string head = typed.substr(0, typed.find('=') + 1);
  const CLI::Option* const option = find_flag(app, head.substr(0, head.size() - 1));
  if (option == nullptr || !takes_value(*option)) return {};
  Candidates found = values(*option);
  for (Candidate& each : found.words) each.word.insert(0, head);
  return found;
}

// The last of them may stand several times.
Candidates positional(const Place& place) {
  const OptionList options = positionals_of(*place.app);
  if (options.empty()) return {};
  const bool is_surplus = place.positionals >= options.size() && options.back()->get_expected_max() <= 1;
  return is_surplus ? Candidates{} : values(*options[std::min(place.positionals, options.size() - 1)]);
}

Candidates all_candidates(const Place& place, const std::string& typed, std::size_t at) {
  if (place.value_of != nullptr) return values(*place.value_of);
  if (typed.starts_with('-') && !place.only_positionals) {
    if (typed.find('=') != std::string::npos) return values_behind_equals(*place.app, typed);
    Candidates flags;
    add_flags(*place.app, flags.words);
    return flags;
  }
  if (place.app->get_prefix_command()) return {{}, AlsoOffered::command, at};
  if (const auto commands = commands_of(*place.app); !commands.empty()) {
    Candidates found;
    for (const CLI::App* const each : commands) found.words.push_back({each->get_name(), each->get_description()});
    return found;
  }
  return positional(place);
}

}  // namespace

Candidates candidates(const CLI::App& app, const Arguments& words) {
  if (words.empty()) return {};
  const Place place = place_behind(app, words);
  if (place.in_command) return {{}, AlsoOffered::command, place.command_at};
  Candidates found = all_candidates(place, words.back(), words.size() - 1);
  found.words = beginning_with(words.back(), found.words);
  return found;
}

std::vector<Candidate> beginning_with(const std::string& typed, const std::vector<Candidate>& all) {
  std::vector<Candidate> some;
  std::ranges::copy_if(all, std::back_inserter(some),
                       [&](const Candidate& each) { return each.word.starts_with(typed); });
  return some;
}

std::string text_of(const Candidates& candidates) {
  std::string text;
  for (const Candidate& each : candidates.words)
    text += each.word + (each.about.empty() ? "" : "\t" + each.about.substr(0, each.about.find('\n'))) + "\n";
  switch (candidates.also) {
    case AlsoOffered::nothing:
      break;
    case AlsoOffered::files:
      text += ":files\n";
      break;
    case AlsoOffered::folders:
      text += ":folders\n";
      break;
    case AlsoOffered::command:
      text += ":command " + std::to_string(candidates.command_at) + "\n";
      break;
  }
  return text;
}

}  // namespace weft::cli
