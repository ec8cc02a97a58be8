// See file_content.h.
#include "runner/options/file_content.h"

#include <fcntl.h>
#include <unistd.h>

namespace weft {

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

}  // namespace weft
