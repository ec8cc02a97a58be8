// See variables.h.
#include "runner/options/variables.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "runner/options/file_content.h"

namespace weft {
namespace {

void add(Variables& variables, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
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
