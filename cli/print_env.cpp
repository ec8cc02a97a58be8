// See the header.
#include "cli/print_env.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace weft::cli {
namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool has_only(const std::string& value, std::string_view others) {
  return std::ranges::all_of(value,
                             [&](char c) { return letters.find(c) != letters.npos || others.find(c) != others.npos; });
}

void refuse_unless(bool holds, const std::string& form, const std::string& name, const std::string& value,
                   const char* why) {
  if (!holds) throw std::runtime_error("--print-env=" + form + " cannot hold " + name + "=" + value + ": " + why);
}

// For a shell: eval, or export $(...) where nothing is quoted.
std::string plain(const SetVariables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    text += name + "=";
    if (has_only(value, "/.,:=@%+-")) {
      text += value + "\n";
      continue;
    }
    std::string quoted;
    for (const char c : value) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    text += "'" + quoted + "'\n";
  }
  return text;
}

// "$(weft run --print-env=docker)" is split at blanks, and nothing in it is unquoted.
std::string flags(const std::string& form, const char* flag, const SetVariables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    refuse_unless(value.find_first_of(" \t\r\n\v\f*?[]\\'\"") == std::string::npos, form, name, value,
                  "a shell would split or change it behind $(...)");
    text += std::string(flag) + " " + name + "=" + value + "\n";
  }
  return text;
}

std::string docker(const SetVariables& variables) {
  return flags("docker", "-e", variables);
}

std::string mpirun(const SetVariables& variables) {
  return flags("mpirun", "-x", variables);
}

// DeepSpeed takes all behind the first '=', writes quotation marks around what has another character, and hands that to
// a shell or to mpirun, as its launcher is.
std::string deepspeed(const SetVariables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    refuse_unless(has_only(value, "@%+=:,./-"), "deepspeed", name, value,
                  "DeepSpeed would quote it, and not every launcher of it takes the quotation marks away");
    text += name + "=" + value + "\n";
  }
  return text;
}

// A string of JSON is one of YAML, too.
std::string quoted(const std::string& form, const std::string& name, const std::string& value) {
  try {
    return nlohmann::json(value).dump();
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error("--print-env=" + form + " cannot hold " + name + ": its value is not UTF-8");
  }
}

// Kubernetes puts a variable in the place of $(NAME), and one $ in that of two.
std::string yaml(const SetVariables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    std::string escaped = value;
    for (std::size_t at = 0; (at = escaped.find('$', at)) != std::string::npos; at += 2) escaped.insert(at, 1, '$');
    text += "- name: " + name + "\n  value: " + quoted("yaml", name, escaped) + "\n";
  }
  return text;
}

std::string json(const SetVariables& variables) {
  std::string text;
  for (const auto& [name, value] : variables)
    text += (text.empty() ? "{" : ", ") + quoted("json", name, name) + ": " + quoted("json", name, value);
  return text + "}\n";
}

struct Form {
  std::string_view name;
  std::string_view use;
  std::string (*text)(const SetVariables& variables);
};
constexpr std::array table{
    Form{"plain", "for eval in a shell", &plain},    Form{"docker", "flags of docker run", &docker},
    Form{"mpirun", "flags of Open MPI", &mpirun},    Form{"deepspeed", "lines of .deepspeed_env", &deepspeed},
    Form{"yaml", "env: of a Kubernetes pod", &yaml}, Form{"json", "an object, for Ray", &json},
};

}  // namespace

std::vector<std::string> env_forms() {
  std::vector<std::string> names;
  for (const Form& form : table) names.emplace_back(form.name);
  return names;
}

std::string env_forms_help() {
  std::string text;
  for (const Form& form : table)
    text += (text.empty() ? "" : "; ") + std::string(form.name) + ": " + std::string(form.use);
  return text;
}

std::string env_text(const std::string& form, const SetVariables& variables) {
  for (const Form& each : table)
    if (each.name == form) return each.text(variables);
  throw std::invalid_argument("no form " + form);
}

}  // namespace weft::cli
