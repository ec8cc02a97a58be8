// Reading and writing progress files; see the header.
#include "runner/fill/checkpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "runner/core/driver.h"
#include "runner/own_thread.h"
#include "trace/write/file.h"

namespace weft {
namespace {

constexpr std::string_view first_words = "weft-progress 1 ";

// The first line of a file: format, version, size of what follows, and the job, whose name may hold anything.
std::string first_line(const std::string& job, std::size_t bytes) {
  std::string line = std::string(first_words) + std::to_string(bytes) + " " + job;
  for (char& character : line)
    if (character == '\n') character = ' ';
  return line + "\n";
}

// 0 or errno.
int read_all(int descriptor, std::string& content) {
  char buffer[65536];
  for (;;) {
    const ssize_t size = ::read(descriptor, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) return 0;
    content.append(buffer, static_cast<std::size_t>(size));
  }
}

// The state of the writing thread, which may outlive the one that waits for it.
struct Writing {
  std::string path;
  std::string content;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;  // guarded by mutex
  std::string fault;   // guarded by mutex
};

// 0 or errno. On the way the old file stays what it was.
int replace_file(const std::string& path, const std::string& content) {
  const std::size_t slash = path.rfind('/');
  if (const int error = make_directories(path.substr(0, slash)); error != 0) return error;
  static std::atomic<unsigned> writings{0};  // one that does not end may still have its file
  const std::string fresh = path + "." + std::to_string(::getpid()) + "." + std::to_string(writings++);
  const int descriptor = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  if (descriptor < 0) return errno;
  int error = write_all(descriptor, content);
  if (error == 0 && ::fsync(descriptor) != 0) error = errno;
  ::close(descriptor);
  if (error == 0 && ::rename(fresh.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(fresh.c_str());
  return error;
}

void write(Writing& writing) noexcept {
  int error = ENOMEM;
  try {
    error = replace_file(writing.path, writing.content);
  } catch (...) {
    // Only memory can run out here.
  }
  const std::lock_guard lock(writing.mutex);
  writing.ended = true;
  if (error != 0) writing.fault = std::strerror(error);
  writing.changed.notify_all();
}

}  // namespace

std::string progress_path(const std::string& directory, int rank, std::optional<int> device, const std::string& job) {
  return directory + "/rank" + std::to_string(rank) + (device ? ".device" + std::to_string(*device) : "") +
         (job.empty() ? "" : "." + job) + ".progress";
}

ProgressClaim::ProgressClaim(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  int error = make_directories(directory);
  if (error == 0) {
    descriptor_ = ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    error = descriptor_ < 0 ? errno : 0;
  }
  // Another user's lock file keeps nobody from replacing the progress beside it.
  const bool is_only_the_lock =
      error == EACCES && ::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  if (error != 0 && !is_only_the_lock) fault_ = std::strerror(error);
  granted_ = descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// A process that was forked meanwhile, and goes on, has the file open too: closing it alone would leave the lock.
ProgressClaim::~ProgressClaim() {
  if (descriptor_ < 0) return;
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

std::optional<Progress> read_progress(const std::string& path, const std::string& job) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  const int opened = descriptor < 0 ? errno : 0;
  std::string content;
  const int error = opened != 0 ? opened : read_all(descriptor, content);
  if (descriptor >= 0) ::close(descriptor);
  if (error != 0)
    throw SetUpError("the progress in " + path + " (WEFT_CHECKPOINT) cannot be read: " + std::strerror(error));
  const std::size_t end = content.find('\n');
  if (end == std::string::npos || !content.starts_with(first_words))
    throw SetUpError(path + " (WEFT_CHECKPOINT) does not hold the progress of a fill job");
  const std::size_t bytes = content.size() - end - 1;
  if (content.substr(0, end + 1) != first_line(job, bytes))
    throw SetUpError("the progress in " + path + " (WEFT_CHECKPOINT) is damaged or not that of fill job " + job);
  Progress progress(bytes);
  if (bytes != 0) std::memcpy(progress.data(), content.data() + end + 1, bytes);
  return progress;
}

std::string write_progress(const std::string& path, const std::string& job, const Progress& progress, Duration limit) {
  const auto writing = std::make_shared<Writing>();
  writing->path = path;
  writing->content = first_line(job, progress.size());
  writing->content.append(reinterpret_cast<const char*>(progress.data()), progress.size());
  // Of a thread that takes no signal: a file-size limit sends one, and the main job must not get it.
  if (!start_own_thread([writing] { write(*writing); }))
    return "the progress of the fill job cannot be written to " + path + ": no thread for it";
  std::unique_lock lock(writing->mutex);
  const bool ended = writing->changed.wait_for(lock, limit, [&] { return writing->ended; });
  const std::string reason = ended ? writing->fault : "the disk does not answer";
  return reason.empty() ? "" : "the progress of the fill job cannot be written to " + path + ": " + reason;
}

}  // namespace weft
