// See metrics_folder.h.
#include "trace/metrics/metrics_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "trace/read/printable.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".prom", temporary = ".tmp";
// Node exporter is another user, whatever the umask of this one is.
constexpr mode_t for_all_to_read = 0644;

[[noreturn]] void cannot_be_written(const std::string& path, const std::string& why) {
  throw std::runtime_error(printable(path) + " cannot be written: " + why);
}

// As part of a file name: no folder, no pattern of a shell. A '-' only where it parts run and rank.
std::string file_text(std::string_view text, bool is_rank) {
  constexpr std::string_view also = "._";
  constexpr std::size_t most = 100;
  std::string safe(text.substr(0, most));
  for (char& letter : safe) {
    const bool is_safe = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                         (letter >= 'A' && letter <= 'Z') || also.find(letter) != also.npos;
    if (!is_safe && (is_rank || letter != '-')) letter = '_';
  }
  return safe;
}

// Closed in every case.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : path_(path) {
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, for_all_to_read);
    if (file_ < 0) fail();
    if (::fchmod(file_, for_all_to_read) != 0) fail();
  }
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    // Else a machine that loses its power may keep the new name of an empty file.
    if (::fsync(file_) != 0) fail();
  }

 private:
  [[noreturn]] void fail() {
    const int error = errno;
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    cannot_be_written(path_, std::strerror(error));
  }

  const std::string& path_;
  int file_ = -1;
};

}  // namespace

MetricsFolder::MetricsFolder(std::string path, const std::string& run)
    : path_(std::move(path)), prefix_("weft-" + file_text(run, false) + "-rank") {
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (status.type() == fs::file_type::not_found)
    throw std::runtime_error(printable(path_) +
                             " does not exist: it is the folder that node exporter reads "
                             "(--collector.textfile.directory)");
  if (!fs::is_directory(status)) cannot_be_written(path_, error ? error.message() : "it is no folder");
  lock_path_ = path_ + "/weft-" + file_text(run, false) + ".lock";
  lock();
  remove_left_files();
}

MetricsFolder::~MetricsFolder() {
  for (const std::string& file : files_) ::unlink((path_ + "/" + file).c_str());
  ::unlink(lock_path_.c_str());
  ::close(lock_);
}

void MetricsFolder::lock() {
  struct stat opened {
  }, named{};
  do {  // the one that had it may have removed its name meanwhile
    if (lock_ >= 0) ::close(lock_);
    lock_ = ::open(lock_path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, for_all_to_read);
    if (lock_ < 0) cannot_be_written(path_, std::strerror(errno));
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(std::exchange(lock_, -1));
      if (error != EWOULDBLOCK) cannot_be_written(lock_path_, std::strerror(error));
      cannot_be_written(path_, "another 'weft export --prometheus' writes this run there (" + printable(lock_path_) +
                                   " is locked); a name of its own helps: --run NAME");
    }
  } while (::fstat(lock_, &opened) != 0 || ::stat(lock_path_.c_str(), &named) != 0 || opened.st_ino != named.st_ino);
}

// By a process that was killed, whole or not.
void MetricsFolder::remove_left_files() const {
  std::error_code error;
  for (fs::directory_iterator entry(path_, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string_view rank = name;
    if (rank.ends_with(temporary)) rank.remove_suffix(temporary.size());
    if (!rank.starts_with(prefix_) || !rank.ends_with(ending)) continue;
    rank.remove_prefix(prefix_.size());
    // Of a run whose name goes on there is a '-' in the rest.
    if (rank.find('-') == rank.npos) ::unlink(entry->path().c_str());
  }
  if (error) cannot_be_written(path_, error.message());
}

void MetricsFolder::write(const std::map<std::string, std::string>& texts) {
  std::set<std::string> wanted;
  for (const auto& [rank, text] : texts) {
    const std::string name = prefix_ + file_text(rank, true) + std::string(ending);
    const std::string path = path_ + "/" + name, unfinished = path + std::string(temporary);
    wanted.insert(name);
    try {
      OpenFile(unfinished).write(text);
      if (::rename(unfinished.c_str(), path.c_str()) != 0) cannot_be_written(path, std::strerror(errno));
    } catch (...) {
      ::unlink(unfinished.c_str());
      throw;
    }
    files_.insert(name);
  }
  std::erase_if(files_, [&](const std::string& file) {
    if (wanted.contains(file)) return false;
    ::unlink((path_ + "/" + file).c_str());
    return true;
  });
}

}  // namespace weft
