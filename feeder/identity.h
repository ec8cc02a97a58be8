// A name for the content of a file, for results that must not be mixed with others.
//
// Used by the feeder when work begins. Throws FileError.
#pragma once

#include <string>

namespace weft {

// 32 hexadecimal digits. Of a file of more than 256 MiB: its size, its begin and its end, and pieces in between; else
// all of it.
std::string identity_of_file(const std::string& path);

}  // namespace weft
