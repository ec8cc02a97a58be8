// The only translation unit that knows spdlog. The logger lives outside spdlog's registry and is never destroyed, so
// that nothing of it runs at exit; its sink hands each line to stderr at once.
#include "runner/log.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <string>

#include "shim/seam/stderr.h"

namespace weft {
namespace {

class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    write_to_stderr(line.data(), line.size());
  }
  void flush_() override {}
};

spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    auto* created = new spdlog::logger("weft", std::make_shared<StderrSink>());
    created->set_formatter(std::make_unique<spdlog::pattern_formatter>("weft: %v", spdlog::pattern_time_type::local));
    created->set_level(spdlog::level::warn);
    created->set_error_handler([](const std::string&) {});
    return created;
  }();
  return *instance;
}

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

// The word that says how bad it is.
std::string_view severity(LogLevel level) {
  return level == LogLevel::warn ? "warning: " : level == LogLevel::error ? "error: " : "";
}

std::string one_line(std::string_view begin, std::string_view text) {
  std::string line(begin);
  line += text;
  for (char& character : line)
    if (character == '\n' || character == '\r') character = ' ';
  return line;
}

}  // namespace

void set_log_level(LogLevel level) noexcept {
  try {
    logger().set_level(level_of(level));
  } catch (...) {
    // Only memory can run out here; the level then stays as it was.
  }
}

void log(LogLevel level, std::string_view text) noexcept {
  try {
    logger().log(level_of(level), spdlog::string_view_t(one_line(severity(level), text)));
  } catch (...) {
    // A message that cannot be formatted is lost, the process goes on.
  }
}

void log_parts(LogLevel level, std::initializer_list<std::string_view> parts) noexcept {
  try {
    if (!logger().should_log(level_of(level))) return;
  } catch (...) {
    // There is not even room for the logger: then the line is said whatever the level is.
  }
  char line[500] = "weft: ";
  std::size_t length = std::string_view(line).size();
  const auto add = [&](std::string_view part) { length += part.copy(line + length, sizeof line - 1 - length); };
  add(severity(level));
  for (const std::string_view part : parts) add(part);
  line[length++] = '\n';
  write_to_stderr(line, length);
}

void print(std::string_view line) noexcept {
  try {
    const std::string text = one_line("weft: ", line) + "\n";
    write_to_stderr(text.data(), text.size());
  } catch (...) {
    // As for log().
  }
}

}  // namespace weft
