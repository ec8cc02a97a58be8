// By device and inode; see the header.
#include "trace/read/same_file.h"

#include <sys/stat.h>

#include <set>
#include <utility>

namespace weft {

std::vector<std::string> each_once(const std::vector<std::string>& paths) {
  std::set<std::pair<dev_t, ino_t>> known;
  std::vector<std::string> once;
  for (const std::string& path : paths) {
    struct stat status {};
    const bool leads_somewhere = ::stat(path.c_str(), &status) == 0;
    if (!leads_somewhere || known.emplace(status.st_dev, status.st_ino).second) once.push_back(path);
  }
  return once;
}

}  // namespace weft
