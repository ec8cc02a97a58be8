// Written beside the place, then renamed; see the header.
#include "trace/export/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "trace/read/printable.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_buffered = std::size_t{1} << 20;

std::string temporary_name(const std::string& path) {
  return path + ".tmp" + std::to_string(::getpid());
}

// "folder/" is the folder.
std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

[[noreturn]] void cannot_be_written(const std::string& path, const std::string& why) {
  throw std::runtime_error(printable(path) + " cannot be written: " + why);
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), temporary_(temporary_name(path_)) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path_, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) cannot_be_written(path_, "it is no regular file");
  file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void OutputFile::fail(int error) const {
  cannot_be_written(path_, std::strerror(error));
}

void OutputFile::write(std::string_view bytes) {
  buffer_ += bytes;
  bytes_ += bytes.size();
  if (buffer_.size() >= most_buffered) flush();
}

void OutputFile::flush() {
  for (std::string_view left = buffer_; !left.empty();) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(written < 0 ? errno : ENOSPC);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void OutputFile::finish() {
  flush();
  const int closed = ::close(std::exchange(file_, -1));
  const int error = closed == 0 && ::rename(temporary_.c_str(), path_.c_str()) == 0 ? 0 : errno;
  if (error == 0) return;
  ::unlink(temporary_.c_str());
  fail(error);
}

OutputFolder::OutputFolder(std::string path)
    : path_(without_slashes(std::move(path))), temporary_(temporary_name(path_)) {
  std::error_code error;
  if (fs::exists(path_, error)) {
    if (!fs::is_directory(path_, error)) cannot_be_written(path_, "it is no folder");
    if (!fs::is_empty(path_, error)) cannot_be_written(path_, error ? error.message() : "the folder is not empty");
  }
  if (!fs::create_directory(temporary_, error))
    cannot_be_written(path_, error ? error.message() : printable(temporary_) + " is there already");
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!finished_) fs::remove_all(temporary_, ignored);
}

void OutputFolder::finish() {
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) cannot_be_written(path_, error.message());
  finished_ = true;
}

}  // namespace weft
