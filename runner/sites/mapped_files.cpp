// See mapped_files.h.
#include "runner/sites/mapped_files.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace weft {
namespace {

// Up to the next blank, which goes with it.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

template <class Number>
bool read_hexadecimal(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

// 7f0000000000-7f0000001000 r-xp 00026000 fe:01 1234    /usr/lib/a library.so (deleted)
std::optional<MappedFile> file_in(std::string_view line) {
  constexpr std::string_view deleted = " (deleted)";
  MappedFile file;
  const std::string_view range = take_word(line);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos || !read_hexadecimal(range.substr(0, dash), file.begin) ||
      !read_hexadecimal(range.substr(dash + 1), file.end))
    return std::nullopt;
  const std::string_view rights = take_word(line);
  if (rights.size() < 3 || rights[2] != 'x' || !read_hexadecimal(take_word(line), file.offset)) return std::nullopt;
  take_word(line);  // device
  take_word(line);  // inode
  const std::size_t name = line.find_first_not_of(' ');
  if (name == std::string_view::npos) return std::nullopt;
  line.remove_prefix(name);
  file.is_gone = line.ends_with(deleted);
  if (file.is_gone) line.remove_suffix(deleted.size());
  file.path = line;
  return file;
}

}  // namespace

std::vector<MappedFile> mapped_code(std::string_view maps) {
  std::vector<MappedFile> files;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    if (auto file = file_in(line)) files.push_back(std::move(*file));
  }
  return files;
}

const MappedFile* find_mapped(const std::vector<MappedFile>& files, std::uintptr_t address) {
  const auto behind = std::ranges::upper_bound(files, address, {}, [](const MappedFile& file) { return file.begin; });
  if (behind == files.begin() || address >= std::prev(behind)->end) return nullptr;
  return &*std::prev(behind);
}

}  // namespace weft
