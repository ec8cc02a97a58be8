// The functions of an ELF file at some places of it. Every offset is checked: the file may be anything.
//
// Used by code_names, on a thread of Weft's own. Reads the file, in pieces; it is not mapped, because it may become
// shorter meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct ElfFunction {
  std::uint64_t address = 0;  // of the place, as the file's own tables count
  std::string symbol;         // mangled; "": no function of the file's tables covers it
};

// For each place (an offset in the file) that is loaded as code or data. Empty: it is no ELF file of this machine, or
// cannot be read.
std::map<std::uint64_t, ElfFunction> elf_functions(const std::string& path, const std::vector<std::uint64_t>& places);

}  // namespace weft
