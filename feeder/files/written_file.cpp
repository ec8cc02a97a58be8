// See written_file.h.
#include "feeder/files/written_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "feeder/files/open_file.h"

namespace weft {

void write_at(int file, const std::string& path, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw FileError(path, std::strerror(written < 0 ? errno : ENOSPC));
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void read_at(int file, const std::string& path, std::uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw FileError(path, got < 0 ? std::strerror(errno) : "has become shorter while it was read");
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

WrittenFile::WrittenFile(std::string path, std::uint64_t bytes)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) throw FileError(path_, std::strerror(errno));
  const int error = bytes == 0 ? 0 : ::posix_fallocate(file_, 0, static_cast<off_t>(bytes));
  if (error == 0) return;
  ::close(file_);
  ::unlink(path_.c_str());  // and what it took of the disk
  throw FileError(path_, "no room for " + std::to_string(bytes) + " bytes: " + std::strerror(error));
}

WrittenFile::~WrittenFile() {
  if (file_ >= 0) ::close(file_);
}

void WrittenFile::close() {
  if (::close(std::exchange(file_, -1)) != 0) throw FileError(path_, std::strerror(errno));
}

void WrittenFile::sync() {
  if (::fsync(file_) != 0) throw FileError(path_, std::strerror(errno));
}

void sync_folder(const std::string& path) noexcept {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace weft
