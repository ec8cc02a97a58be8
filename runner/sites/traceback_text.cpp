// See traceback_text.h.
#include "runner/sites/traceback_text.h"

#include <charconv>
#include <optional>

namespace weft {
namespace {

constexpr std::string_view begin_of_frame = "  File ";
constexpr std::string_view before_line = ", line ";
constexpr std::string_view before_function = " in ";
constexpr std::string_view unknown = "???";

std::string known(std::string_view text) {
  return text == unknown ? std::string() : std::string(text);
}

// A file's name may hold anything, also a quotation mark or ", line ". So the line is read from its end.
std::optional<PythonFrame> frame_of(std::string_view line) {
  if (!line.starts_with(begin_of_frame)) return std::nullopt;
  line.remove_prefix(begin_of_frame.size());
  const std::size_t at_line = line.rfind(before_line);
  if (at_line == std::string_view::npos) return std::nullopt;
  std::string_view file = line.substr(0, at_line);
  const std::string_view rest = line.substr(at_line + before_line.size());
  const std::size_t at_function = rest.find(before_function);
  if (at_function == std::string_view::npos) return std::nullopt;
  if (file.size() >= 2 && file.front() == '"' && file.back() == '"') file = file.substr(1, file.size() - 2);
  PythonFrame frame{known(file), known(rest.substr(at_function + before_function.size())), 0};
  const std::string_view number = rest.substr(0, at_function);
  std::from_chars(number.data(), number.data() + number.size(), frame.line);
  return frame;
}

}  // namespace

std::vector<PythonFrame> frames_of_traceback(std::string_view text, std::size_t most) {
  std::vector<PythonFrame> frames;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos && frames.size() < most;
       end = text.find('\n')) {
    if (const auto frame = frame_of(text.substr(0, end))) frames.push_back(*frame);
    text.remove_prefix(end + 1);
  }
  return frames;
}

}  // namespace weft
