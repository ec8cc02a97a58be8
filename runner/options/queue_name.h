// The name of a queue as it may be shown: that of a Redis server may have a password in it.
//
// Used for start lines, traces and messages, in the core and in the weft command. Pure.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// redis://USER:PASSWORD@HOST:PORT/0?prefix=a as redis://HOST:PORT/0; a folder as it is.
std::string shown_queue(std::string_view name);

}  // namespace weft
