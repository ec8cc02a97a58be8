// See open_file.h.
#include "feeder/files/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "feeder/files/written_file.h"

namespace weft {

std::string shown(std::string_view text) {
  std::string made(text.substr(0, 64));
  for (char& c : made)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  return made;
}

// O_NONBLOCK: to open a FIFO would wait for its other end.
OpenFile::OpenFile(std::string path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_ < 0) throw FileError(path_, std::strerror(errno));
  struct stat status {};
  const bool is_file = ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (!is_file) ::close(file_);
  if (!is_file) throw FileError(path_, "is not a regular file");
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

bool OpenFile::is(const struct stat& other) const {
  struct stat own {};
  return ::fstat(file_, &own) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

OpenFile::~OpenFile() {
  ::close(file_);
}

void OpenFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  read_at(file_, path_, offset, to);
}

std::string OpenFile::text(std::uint64_t offset, std::uint64_t bytes) const {
  std::string text(bytes, '\0');
  read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace weft
