// See code_names.h.
#include "runner/sites/code_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

#include "runner/sites/elf_functions.h"
#include "runner/sites/mapped_files.h"

namespace weft {
namespace {

std::string own_maps() {
  std::string text;
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 1 << 16> piece;
  for (ssize_t got = 0; (got = ::read(file, piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(got));
  ::close(file);
  return text;
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

struct Place {
  std::uintptr_t address;
  std::uint64_t in_file;
};

// All addresses of one file, so that its tables are read once.
void name_places(const MappedFile& file, const std::vector<Place>& places, CodeNames& names) {
  std::vector<std::uint64_t> in_file;
  for (const Place& place : places) in_file.push_back(place.in_file);
  const bool may_be_read = !file.is_gone && file.path.starts_with('/');
  const auto functions = may_be_read ? elf_functions(file.path, in_file) : std::map<std::uint64_t, ElfFunction>{};
  for (const Place& place : places) {
    const auto found = functions.find(place.in_file);
    names[place.address] = found == functions.end()
                               ? CodeName{base_name(file.path), "", place.in_file}
                               : CodeName{base_name(file.path), found->second.symbol, found->second.address};
  }
}

}  // namespace

CodeNames names_of_code(std::span<const std::uintptr_t> addresses) {
  const std::vector<MappedFile> files = mapped_code(own_maps());
  CodeNames names;
  // A file that is gone may have a successor of the same path.
  std::map<std::pair<std::string, bool>, std::pair<const MappedFile*, std::vector<Place>>> by_file;
  for (const std::uintptr_t address : addresses) {
    const MappedFile* const file = find_mapped(files, address);
    if (file == nullptr) {
      names[address] = {"", "", address};
      continue;
    }
    auto& [mapped, places] = by_file[{file->path, file->is_gone}];
    mapped = file;
    places.push_back({address, address - file->begin + file->offset});
  }
  for (const auto& [path, file] : by_file) name_places(*file.first, file.second, names);
  return names;
}

}  // namespace weft
