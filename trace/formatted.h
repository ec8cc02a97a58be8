// printf into a string, for the lines that people read: runner/core/report.cpp in the training process,
// read/summary_text.cpp in the command.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>

namespace weft {

// Text that does not fit into a line is cut off.
__attribute__((format(printf, 1, 2))) inline std::string formatted(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

// For %llu.
inline unsigned long long number(std::uint64_t value) {
  return value;
}

}  // namespace weft
