// Messages of the core on stderr, one line each, starting with "weft: ", and then "warning: " or "error: " where they
// are one. Never stdout, never a file, never an exit.
//
// Any thread of the core; also threads of the main job inside the core's services. Before set_log_level() nothing below
// a warning is shown. Events do not come this way: they go through the trace.
#pragma once

#include <initializer_list>
#include <string_view>

namespace weft {

enum class LogLevel { info, warn, error, off };

void set_log_level(LogLevel level) noexcept;
// Line breaks in the text become spaces: one message is one line.
void log(LogLevel level, std::string_view text) noexcept;
// The same for a text in parts, put together without allocating: for handlers that run when memory has run out. Cut
// after some 490 characters; the parts hold no line break.
void log_parts(LogLevel level, std::initializer_list<std::string_view> parts) noexcept;
// A line that is a result and not a message: shown whatever the level is.
void print(std::string_view line) noexcept;

}  // namespace weft
