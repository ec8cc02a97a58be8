// See code_names.h.
#include "runner/sites/code_names.h"

#include <vector>

#include "runner/options/file_content.h"
#include "runner/sites/elf_functions.h"
#include "runner/sites/mapped_files.h"

namespace weft {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// The file's tables are read once for all its places.
void add_names(const MappedFile& file, const std::vector<std::uint64_t>& places, CodeNames& names) {
  const std::string name = base_name(file.path);
  const bool may_be_read = !file.is_gone && file.path.starts_with('/');
  const auto functions = may_be_read ? elf_functions(file.path, places) : std::map<std::uint64_t, ElfFunction>{};
  for (const std::uint64_t place : places) {
    const auto found = functions.find(place);
    names[place - file.offset + file.begin] = found == functions.end()
                                                  ? CodeName{name, "", place}
                                                  : CodeName{name, found->second.symbol, found->second.address};
  }
}

}  // namespace

CodeNames names_of_code(std::span<const std::uintptr_t> addresses) {
  const std::vector<MappedFile> files = mapped_code(content_of("/proc/self/maps"));
  CodeNames names;
  std::map<const MappedFile*, std::vector<std::uint64_t>> places;
  for (const std::uintptr_t address : addresses) {
    if (const MappedFile* const file = find_mapped(files, address))
      places[file].push_back(address - file->begin + file->offset);
    else
      names[address] = {"", "", address};
  }
  for (const auto& [file, in_file] : places) add_names(*file, in_file, names);
  return names;
}

}  // namespace weft
