// Which library an address of code is of, and which of its functions: copies, taken while nothing can be unloaded.
//
// Used by a thread of Weft's own. The loader's list of libraries is locked meanwhile, for the time of one search
// through the exported names of one library; no name of the loader's is looked at behind that, as dladdr() has one do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

struct LoadedCode {
  std::string file;          // without its folders
  std::string symbol;        // mangled; "": the library exports no function that covers the address
  std::uint64_t offset = 0;  // as addr2line wants it
};

// Nothing: no library has code or data there.
std::optional<LoadedCode> find_loaded_code(const void* address);

}  // namespace weft
