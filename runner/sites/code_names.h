// Which library or program an address of code is of, and which of its functions: from /proc/self/maps and the files.
//
// Used by a thread of Weft's own. No function of the loader's is asked, as dladdr() is: it takes a lock that would stay
// locked in a child of fork(), and its answers point to memory that another thread may unload. Files may be anything.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace weft {

struct CodeName {
  std::string file;          // without its folders; "": none is mapped there
  std::string symbol;        // mangled; "": not known
  std::uint64_t offset = 0;  // as addr2line wants it; the address itself where there is no file
};

using CodeNames = std::map<std::uintptr_t, CodeName>;  // by the address

// Of all these.
CodeNames names_of_code(std::span<const std::uintptr_t> addresses);

}  // namespace weft
