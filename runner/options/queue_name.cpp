// See queue_name.h.
#include "runner/options/queue_name.h"

namespace weft {

std::string shown_queue(std::string_view name) {
  const std::size_t scheme = name.find("://");
  if (!name.starts_with("redis") || scheme == std::string_view::npos) return std::string(name);
  const std::string_view begin = name.substr(0, scheme + 3);
  std::string_view rest = name.substr(scheme + 3);
  rest = rest.substr(0, rest.find('?'));
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) rest.remove_prefix(at + 1);
  return std::string(begin) + std::string(rest);
}

}  // namespace weft
