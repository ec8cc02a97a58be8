// System calls of a trace file; see the header.
#include "trace/write/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace weft {
namespace {

constexpr int open_flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

struct OwnFile {
  std::string name;
  std::array<bool, 2> noted{};  // by FileNote
};

// The files that this process has made, by directory and stem. Never destroyed: nothing of Weft runs at exit.
struct OwnFiles {
  std::mutex mutex;
  std::map<std::string, OwnFile> files;
};
OwnFiles& own_files() {
  static OwnFiles* const files = new OwnFiles;
  return *files;
}

// The working directory may change between two openings.
std::string absolute(const std::string& directory) {
  char* const found = ::realpath(directory.c_str(), nullptr);
  if (found == nullptr) return directory;
  const std::string result = found;
  std::free(found);
  return result;
}

// A new file, under the first name that nobody has; -1 and errno.
int make_file(const std::string& directory, const std::string& stem, const std::string& extension, std::string& name) {
  for (std::uint64_t number = 1;; ++number) {
    name = stem + (number == 1 ? "" : "." + std::to_string(number)) + extension;
    const int descriptor = ::open((directory + "/" + name).c_str(), open_flags | O_EXCL, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

// A disk that was full for a while may have cut the last line.
bool ends_within_a_line(const std::string& path, std::uint64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return false;
  char last = '\n';
  const bool read = ::pread(descriptor, &last, 1, static_cast<off_t>(bytes - 1)) == 1;
  ::close(descriptor);
  return read && last != '\n';
}

bool is_open(const TraceFileHandle& file) noexcept {
  struct stat status {};
  return file.descriptor >= 0 && ::fstat(file.descriptor, &status) == 0 && status.st_dev == file.device &&
         status.st_ino == file.inode;
}

}  // namespace

// Existing directories are fine, whoever made them: the ranks of a job do this at the same time.
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

TraceFileHandle open_trace_file(const std::string& directory, const std::string& stem, std::string& error,
                                const std::string& extension) {
  TraceFileHandle file;
  if (const int code = make_directories(directory); code != 0) {
    error = "the trace directory " + directory + " cannot be made: " + std::strerror(code);
    return file;
  }
  OwnFiles& own = own_files();
  const std::lock_guard lock(own.mutex);
  file.key = absolute(directory) + "/" + stem + extension;
  const auto known = own.files.find(file.key);
  std::string name = known == own.files.end() ? "" : known->second.name;
  file.descriptor = name.empty() ? make_file(directory, stem, extension, name)
                                 : ::open((directory + "/" + name).c_str(), open_flags, 0666);
  file.path = directory + "/" + name;
  if (file.descriptor < 0) {
    error = "the trace " + file.path + " cannot be opened: " + std::strerror(errno);
    return file;
  }
  own.files[file.key].name = name;
  struct stat status {};
  ::fstat(file.descriptor, &status);
  file.device = status.st_dev;
  file.inode = status.st_ino;
  if (S_ISREG(status.st_mode)) file.bytes = static_cast<std::uint64_t>(status.st_size);
  file.torn = file.bytes > 0 && ends_within_a_line(file.path, file.bytes);
  return file;
}

int append(const TraceFileHandle& file, std::string_view text) {
  return is_open(file) ? write_all(file.descriptor, text) : EBADF;
}

int append_whole(const TraceFileHandle& file, std::string_view text) {
  struct stat before {};
  if (!is_open(file) || ::fstat(file.descriptor, &before) != 0) return EBADF;
  const int error = write_all(file.descriptor, text);
  if (error != 0 && ::ftruncate(file.descriptor, before.st_size) != 0) forget_trace_file(file);
  return error;
}

void forget_trace_file(const TraceFileHandle& file) {
  OwnFiles& own = own_files();
  const std::lock_guard lock(own.mutex);
  own.files.erase(file.key);
}

bool is_new(FileNote note, const TraceFileHandle& file) {
  OwnFiles& own = own_files();
  const std::lock_guard lock(own.mutex);
  const auto known = own.files.find(file.key);
  return known == own.files.end() || !std::exchange(known->second.noted[static_cast<std::size_t>(note)], true);
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void close_trace_file(TraceFileHandle& file) noexcept {
  if (is_open(file)) ::close(file.descriptor);
  file.descriptor = -1;
}

// Not through a link: the file is Weft's own.
int open_page_file(TraceFileHandle& file) {
  constexpr int page_flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
  file.descriptor = ::open(file.path.c_str(), page_flags, 0666);
  if (file.descriptor < 0) return errno;
  struct stat status {};
  if (::fstat(file.descriptor, &status) != 0) return errno;
  file.device = status.st_dev;
  file.inode = status.st_ino;
  return 0;
}

// A page that is written in part is worth nothing, and its reader knows it for one.
int write_page(const TraceFileHandle& file, std::string_view page) {
  if (!is_open(file)) return EBADF;
  for (;;) {
    const ssize_t written = ::pwrite(file.descriptor, page.data(), page.size(), 0);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    return static_cast<std::size_t>(written) == page.size() ? 0 : ENOSPC;
  }
}

}  // namespace weft
