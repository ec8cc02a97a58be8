// The file behind a descriptor. The main job may close any number and open a file of its own, which then has that
// number: whoever keeps a descriptor in its process asks before each use.
//
// Any thread.
#pragma once

#include <sys/stat.h>

namespace weft {

struct FileIdentity {
  dev_t device = 0;
  ino_t number = 0;

  static FileIdentity of(int descriptor) {
    struct stat status {};
    return ::fstat(descriptor, &status) == 0 ? FileIdentity{status.st_dev, status.st_ino} : FileIdentity{};
  }
  bool is_behind(int descriptor) const { return number != 0 && of(descriptor) == *this; }
  bool operator==(const FileIdentity&) const = default;
};

}  // namespace weft
