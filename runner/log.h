// Messages of the core on stderr, one line each, starting with "weft: ". Never stdout, never a file, never an exit.
//
// Any thread of the core; also threads of the main job inside the core's services. Before set_log_level() nothing below
// a warning is shown. Events do not come this way: they go through the trace.
#pragma once

#include <string_view>

namespace weft {

enum class LogLevel { trace, debug, info, warn, error, off };

void set_log_level(LogLevel level) noexcept;
// Line breaks in the text become spaces: one message is one line.
void log(LogLevel level, std::string_view text) noexcept;
// A line that is a result and not a message: shown whatever the level is.
void print(std::string_view line) noexcept;

}  // namespace weft
