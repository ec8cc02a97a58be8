// See shared_file.h.
#include "runner/feed/shared_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "runner/clock.h"

namespace weft {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

// The lock of a process: it goes with that, however it ends, and a child does not have it.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::runtime_error no_room(const std::string& folder, std::uint64_t wanted, std::uint64_t room) {
  const auto kibibytes = [](std::uint64_t bytes) { return std::to_string((bytes + 1023) >> 10) + " KiB"; };
  return std::runtime_error("no room for " + kibibytes(wanted) + " of shared memory in " + folder + ": " +
                            kibibytes(room) + ", a quarter of what is free, may be taken (in a container: --shm-size)");
}

void make_room(int file, const std::string& path, std::uint64_t bytes) {
  const int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0) return;
  fail("no room for " + std::to_string((bytes >> 10) + 1) + " KiB of shared memory in " + path, error);
}

// A program may have closed its standard files, and would write into one that took such a number.
int above_the_standard_ones(int file) {
  if (file < 0 || file > STDERR_FILENO) return file;
  const int higher = ::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(file);
  return higher;
}

// Elsewhere a page that is touched may not be there, which would end the process, or wait for a disk.
bool is_in_memory(int file) {
  struct statfs status {};
  return ::fstatfs(file, &status) == 0 && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

std::string new_name() {
  static std::atomic<std::uint32_t> files{0};
  return std::to_string(::getpid()) + "-" + std::to_string(now().time_since_epoch().count()) + "-" +
         std::to_string(files.fetch_add(1));
}

}  // namespace

SharedFile::SharedFile(std::string path, int file)
    : path_(std::move(path)), file_(file), identity_(FileIdentity::of(file)) {}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      identity_(other.identity_),
      pages_(std::exchange(other.pages_, nullptr)),
      mapped_(other.mapped_) {}

SharedFile::~SharedFile() {
  if (pages_ != nullptr) ::munmap(pages_, mapped_);
  if (file_ >= 0 && identity_.is_behind(file_)) ::close(file_);
}

SharedFile SharedFile::create(const std::string& folder, std::string_view ending, std::uint64_t bytes,
                              const std::function<void(void*)>& make_header) {
  const std::string path = folder + "/" + new_name(), hidden = path + ".new";
  const int file =
      above_the_standard_ones(::open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file < 0) fail("nothing can be made in the feeder's folder " + folder + " (WEFT_FEEDER)", errno);
  SharedFile made(path + std::string(ending), file);
  try {
    if (!is_in_memory(file))
      throw std::runtime_error("the feeder's folder " + folder +
                               " (WEFT_FEEDER) is not in shared memory, as /dev/shm is");
    made.grow(bytes);
    made.pages_ = made.map(0, bytes);
    made.mapped_ = bytes;
    make_header(made.pages_);
    struct flock lock = whole_file();
    if (::fcntl(file, F_SETLK, &lock) != 0) fail("no lock in the feeder's folder " + folder, errno);
    if (::rename(hidden.c_str(), made.path_.c_str()) != 0) fail(made.path_, errno);
  } catch (...) {
    ::unlink(hidden.c_str());
    throw;
  }
  return made;
}

SharedFile SharedFile::open(const std::string& path, std::uint64_t bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) fail(path, errno);
  SharedFile opened(path, file);
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || opened.bytes() < bytes)
    throw std::runtime_error(path + " is no channel");
  opened.pages_ = opened.map(0, bytes);
  opened.mapped_ = bytes;
  return opened;
}

std::uint64_t SharedFile::bytes() const {
  struct stat status {};
  return ::fstat(file_, &status) != 0 ? 0 : static_cast<std::uint64_t>(status.st_size);
}

std::uint64_t SharedFile::room() const {
  struct statfs status {};
  if (::fstatfs(file_, &status) != 0) return 0;
  // A file system without a limit has no blocks.
  if (status.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(status.f_bavail) * static_cast<std::uint64_t>(status.f_bsize) / 4;
}

void SharedFile::grow(std::uint64_t bytes) const {
  const std::uint64_t more = bytes - std::min(this->bytes(), bytes);
  if (more > room()) throw no_room(folder(), more, room());
  make_room(file_, folder(), bytes);
}

void* SharedFile::map(std::uint64_t offset, std::uint64_t bytes) const {
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(offset));
  if (pages == MAP_FAILED) fail("the feeder's shared memory cannot be mapped", errno);
  return pages;
}

bool SharedFile::is_locked() const {
  struct flock lock = whole_file();
  return ::fcntl(file_, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

void SharedFile::remove() const noexcept {
  ::unlink(path_.c_str());
}

}  // namespace weft
