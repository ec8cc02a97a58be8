// Finding and making private folders; see the header.
#include "runner/options/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace weft {

std::vector<std::string> private_places(const Variables& variables) {
  std::vector<std::string> places;
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const auto found = variables.find(name);
    if (found != variables.end() && found->second.starts_with('/')) places.push_back(found->second);
  }
  places.emplace_back("/tmp");
  return places;
}

int open_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return -1;
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status {};
  if (folder < 0) return -1;
  if (::fstat(folder, &status) == 0 && status.st_uid == ::geteuid() && (status.st_mode & 077) == 0) return folder;
  ::close(folder);
  return -1;
}

}  // namespace weft
