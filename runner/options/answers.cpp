// See answers.h.
#include "runner/options/answers.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runner/options/marking.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view first_line = "weft-answers 1";
constexpr std::size_t most_bytes = 4096;
constexpr const char* answer_words[] = {"unknown", "passes", "holds"};
constexpr std::string_view answer_letters = "uph";

std::string value_of(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_answer(std::string_view text, Found& answer) {
  for (std::size_t i = 0; i < std::size(answer_words); ++i) {
    if (text != answer_words[i]) continue;
    answer = static_cast<Found>(i);
    return true;
  }
  return false;
}

bool take(std::string_view key, std::string_view value, Answers& answers) {
  if (key == "gpu") return answers.machine.gpu = value, !value.empty();
  if (key == "driver") return parse_number(value, answers.machine.driver_version);
  if (key == "queues") return parse_number(value, answers.machine.queues);
  if (key == "mps") return answers.machine.mps = value == "yes", value == "yes" || value == "no";
  for (std::size_t i = 0; i < asked_names.size(); ++i)
    if (key == asked_names[i]) return parse_answer(value, answers.found[i]);
  return false;
}

}  // namespace

bool is_under_mps(const Variables& variables) {
  return !value_of(variables, "CUDA_MPS_PIPE_DIRECTORY").empty();
}

Machine machine_of(const std::string& gpu, int driver_version, const Variables& variables) {
  return {gpu, driver_version, hardware_queues(variables), is_under_mps(variables)};
}

std::string answers_folder(const std::string& option, const Variables& variables) {
  if (!option.empty()) return option;
  const std::string cache = value_of(variables, "XDG_CACHE_HOME");
  if (!cache.empty() && cache.front() == '/') return cache + "/weft";
  const std::string home = value_of(variables, "HOME");
  return home.empty() ? "" : home + "/.cache/weft";
}

std::string answers_file(const std::string& folder, const Machine& machine) {
  std::string name;
  for (const char c : machine.gpu) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return folder + "/" + name + "-driver-" + std::to_string(machine.driver_version) + "-queues-" +
         std::to_string(machine.queues) + (machine.mps ? "-mps" : "") + ".answers";
}

std::string letters_of(const Answers& answers) {
  std::string letters;
  for (const Found found : answers.found) letters += answer_letters[static_cast<std::size_t>(found)];
  return letters;
}

bool parse_letters(std::string_view letters, Answers& answers) {
  if (letters.size() != asked_names.size() || letters.find_first_not_of(answer_letters) != std::string_view::npos)
    return false;
  for (std::size_t i = 0; i < letters.size(); ++i)
    answers.found[i] = static_cast<Found>(answer_letters.find(letters[i]));
  return true;
}

std::string text_of(const Answers& answers) {
  const Machine& machine = answers.machine;
  std::string text = std::string(first_line) + "\ngpu " + machine.gpu + "\ndriver " +
                     std::to_string(machine.driver_version) + "\nqueues " + std::to_string(machine.queues) + "\nmps " +
                     (machine.mps ? "yes" : "no") + "\n";
  for (std::size_t i = 0; i < asked_names.size(); ++i)
    text += std::string(asked_names[i]) + " " + answer_words[static_cast<std::size_t>(answers.found[i])] + "\n";
  return text;
}

bool parse_answers(std::string_view text, Answers& answers, std::string& fault) {
  std::size_t number = 0, first = 0;
  for (std::size_t end = 0; (end = text.find('\n', first)) != std::string_view::npos; first = end + 1) {
    const std::string_view line = text.substr(first, end - first);
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view value = line.substr(std::min(blank + 1, line.size()));
    if (++number == 1 ? line == first_line : take(line.substr(0, blank), value, answers)) continue;
    fault = "line " + std::to_string(number) + " is not understood";
    return false;
  }
  if (number != 5 + asked_names.size() || first != text.size()) fault = "it is not complete";
  return fault.empty();
}

bool read_answers(const std::string& folder, const Machine& machine, Answers& answers, std::string& fault) {
  if (folder.empty()) return false;
  const std::string path = answers_file(folder, machine);
  std::ifstream file(path);
  if (!file) return false;
  std::string text(most_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (parse_answers(text, answers, fault) && answers.machine != machine)
    fault = "it is of another GPU, driver or environment";
  if (fault.empty()) return true;
  fault = "the answers of weft check in " + path + " are not used: " + fault;
  return false;
}

bool read_deciding_answers(const std::string& folder, Machine machine, Answers& answers, std::string& fault) {
  machine.queues = 1;
  return read_answers(folder, machine, answers, fault);
}

std::string keep_answers(const std::string& folder, const Answers& answers) {
  if (folder.empty()) return "neither XDG_CACHE_HOME nor HOME is set";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return folder + ": " + error.message();
  // Whoever reads meanwhile sees all of it or nothing.
  const std::string path = answers_file(folder, answers.machine);
  const std::string draft = path + "." + std::to_string(::getpid());
  errno = 0;
  std::ofstream file(draft);
  file << text_of(answers);
  file.close();
  if (!file) return draft + ": " + (errno != 0 ? std::strerror(errno) : "cannot be written");
  fs::rename(draft, path, error);
  return error ? path + ": " + error.message() : "";
}

}  // namespace weft
