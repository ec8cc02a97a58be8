// All of a file, as one of /proc whose length nobody knows beforehand.
//
// Used by the core, the probe and the command. Any thread. No stream, so nothing of a locale.
#pragma once

#include <string>

namespace weft {

// "": it cannot be read, or is empty.
std::string content_of(const char* path);

}  // namespace weft
