// The files that are mapped as code of this process, from the text of /proc/self/maps.
//
// Used by code_names. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct MappedFile {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t offset = 0;  // in the file
  std::string path;          // "[vdso]" is one, too
  bool is_gone = false;      // deleted, or another one is in its place
};

// Those that may be executed and have a name, in rising order, as the kernel has them.
std::vector<MappedFile> mapped_code(std::string_view maps);

// nullptr: none has this address.
const MappedFile* find_mapped(const std::vector<MappedFile>& files, std::uintptr_t address);

}  // namespace weft
