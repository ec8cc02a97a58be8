// See variables.h.
#include "runner/options/variables.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace weft {
namespace {

void add(Variables& variables, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
}

std::string content_of(const char* path) {
  std::string content;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return content;
  char part[4096];
  for (ssize_t size = 0; (size = ::read(file, part, sizeof part)) > 0;)
    content.append(part, static_cast<std::size_t>(size));
  ::close(file);
  return content;
}

}  // namespace

Variables environment_variables() {
  Variables variables;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) add(variables, *entry);
  return variables;
}

Variables first_environment_variables() {
  Variables variables;
  const std::string content = content_of("/proc/self/environ");
  for (std::size_t first = 0; first < content.size();) {
    const std::size_t end = std::min(content.find('\0', first), content.size());
    add(variables, std::string_view(content).substr(first, end - first));
    first = end + 1;
  }
  return variables;
}

}  // namespace weft
