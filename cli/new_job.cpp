// weft new-job: writes a small project for a fill job, that builds and can be tried as it is. The files are those of
// examples/fill/new, which are installed beside the library; the name of the job stands in the place of @NAME@.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/locate.h"
#include "cli/parse.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> files{"CMakeLists.txt", "README.md",     "arithmetic.h",
                                                "job.cu",         "simulated.cpp", "example.jsonl"};

constexpr std::size_t longest_name = 60;

// Targets that CMake and CTest make themselves.
constexpr std::array<std::string_view, 8> targets_of_cmake{"all",  "clean",   "help",       "install",
                                                           "test", "package", "edit_cache", "rebuild_cache"};

// It becomes part of names in C++ and of a target.
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > longest_name || std::isalpha(static_cast<unsigned char>(name[0])) == 0)
    return false;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  return true;
}

std::string with_name(std::string text, const std::string& name) {
  constexpr std::string_view place = "@NAME@";
  for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += name.size())
    text.replace(at, place.size(), name);
  return text;
}

void write(const fs::path& from, const fs::path& to, const std::string& name) {
  std::ifstream in(from, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.empty()) throw std::runtime_error(from.string() + " is missing: install Weft again");
  std::ofstream out(to, std::ios::binary);
  out << with_name(text, name);
  out.flush();
  if (!out) throw std::runtime_error(to.string() + " cannot be written");
}

}  // namespace

int new_job_verb(const Arguments& arguments) {
  std::string name, folder;
  CLI::App app(
      "Writes a small project for a fill job into a new folder: CMake, a kernel, records to try it with. It builds "
      "and runs as it is.",
      "weft new-job");
  app.add_option("NAME", name, "Letters, digits and _; begins with a letter.")->type_name("")->required();
  app.add_option("--folder", folder, "Where to write it. Not given: NAME, here.")->type_name("FOLDER");
  if (const auto code = parse(app, arguments)) return *code;
  if (!is_name(name)) {
    complain("'" + name + "' is no name for a job: letters, digits and _, first a letter, and " +
             std::to_string(longest_name) + " of them at most");
    return wrong_usage;
  }
  if (std::find(targets_of_cmake.begin(), targets_of_cmake.end(), name) != targets_of_cmake.end()) {
    complain("'" + name + "' is no name for a job: CMake has a target of that name");
    return wrong_usage;
  }
  const fs::path to = folder.empty() ? name : folder, from = library_directory() / "new-job";
  std::error_code error;
  if (!fs::create_directories(to, error))
    throw std::runtime_error(to.string() + (error ? " cannot be made: " + error.message() : " is there already"));
  for (const std::string_view file : files)
    write(from / file, to / (file == "job.cu" ? name + ".cu" : std::string(file)), name);
  std::printf("%s has the fill job %s; its README.md says how to build and try it\n", to.c_str(), name.c_str());
  return 0;
}

}  // namespace weft::cli
