// System calls of a trace file; see the header.
#include "trace/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace weft {

// What is there already is fine, whoever made it: the ranks of a job do this at the same time.
int make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    const int error = ::mkdir(part.c_str(), 0777) == 0 ? 0 : errno;
    struct stat status {};
    const bool there = ::stat(part.c_str(), &status) == 0;
    if (there && !S_ISDIR(status.st_mode)) return ENOTDIR;
    if (!there) return error == 0 ? errno : error;
    if (end == std::string::npos) return 0;
  }
}

int open_trace_file(const std::string& directory, const std::string& name, std::string& error) {
  if (const int code = make_directories(directory); code != 0) {
    error = "the trace directory " + directory + " cannot be made: " + std::strerror(code);
    return -1;
  }
  const std::string path = directory + "/" + name;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  if (descriptor < 0) error = "the trace " + path + " cannot be opened: " + std::strerror(errno);
  return descriptor;
}

int append(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace weft
