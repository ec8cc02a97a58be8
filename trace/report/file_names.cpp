// See the header.
#include "trace/report/file_names.h"

#include <string_view>

#include "trace/read/printable.h"

namespace weft::report {
namespace {

// A path may begin there: not within a word, nor within a path.
bool is_boundary(const std::string& text, std::size_t place) {
  return place == 0 || std::string_view(" \t'\"()[]<>=:,;").find(text[place - 1]) != std::string_view::npos;
}

void erase_folder(std::string& text, const std::string& folder) {
  for (std::size_t place = text.find(folder); place != std::string::npos; place = text.find(folder, place)) {
    if (!is_boundary(text, place)) {
      ++place;
      continue;
    }
    const std::size_t end = text.find_first_not_of('/', place + folder.size());
    text.erase(place, (end == std::string::npos ? text.size() : end) - place);
  }
}

// An address ("https://") is none.
void shorten_absolute_paths(std::string& text) {
  for (std::size_t place = text.find('/'); place != std::string::npos; place = text.find('/', place + 1)) {
    if (!is_boundary(text, place) || text.compare(place, 2, "//") == 0) continue;
    const std::size_t found = text.find_first_of(" \t'\"()[]<>,;", place);
    const std::size_t end = found == std::string::npos ? text.size() : found;
    if (end - place < 2) continue;
    const std::size_t last = text.rfind('/', end - 2);
    text.erase(place, last + 1 - place);
  }
}

}  // namespace

std::string with_names_of_files(std::string text, const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    std::string folder = printable(directory);
    while (folder.ends_with('/')) folder.pop_back();
    if (!folder.empty()) erase_folder(text, folder + "/");
  }
  shorten_absolute_paths(text);
  return text;
}

}  // namespace weft::report
