// Reads by pieces; see the header.
#include "trace/read/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "trace/read/printable.h"

namespace weft {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "something else";
}

[[noreturn]] void cannot_be_read(const std::string& path, int error) {
  throw std::runtime_error(printable(path) + " cannot be read: " + std::strerror(error));
}

}  // namespace

LineReader::LineReader(const std::string& path) {
  // To open a FIFO would wait for its writer. The opened file is asked what it is: the name may change its meaning.
  file_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file_ < 0) cannot_be_read(path, errno);
  struct stat status {};
  const int error = ::fstat(file_, &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(status.st_mode)) {
    left_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    return;
  }
  ::close(file_);
  if (error != 0) cannot_be_read(path, error);
  throw std::runtime_error(printable(path) + " is " + kind_of(status.st_mode) + ", not a regular file");
}

LineReader::~LineReader() {
  ::close(file_);
}

bool LineReader::fill() {
  ssize_t got = 0;
  do got = left_ == 0 ? 0 : ::read(file_, buffer_.data(), std::min<std::uint64_t>(left_, buffer_.size()));
  while (got < 0 && errno == EINTR);
  if (got < 0) error_ = errno;
  left_ = got <= 0 ? 0 : left_ - static_cast<std::uint64_t>(got);
  lines_.give({buffer_.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
  return got > 0;
}

std::optional<FileLine> LineReader::next() {
  do
    if (const std::optional<FileLine> line = lines_.next()) return line;
  while (fill());
  return lines_.rest();
}

void LineSplitter::keep(std::string_view part) {
  any_ = true;
  too_long_ = too_long_ || line_.size() + part.size() > most_line_bytes;
  if (too_long_)
    line_.clear();
  else
    line_ += part;
}

std::optional<FileLine> LineSplitter::next() {
  if (given_) {
    line_.clear();
    too_long_ = any_ = given_ = false;
  }
  if (unread_.empty()) return std::nullopt;
  const std::size_t end = unread_.find('\n');
  if (!any_ && end <= most_line_bytes) {  // nearly all lines: nothing is copied
    const std::string_view whole = unread_.substr(0, end);
    unread_.remove_prefix(end + 1);
    return FileLine{whole, ++number_, false, false};
  }
  keep(unread_.substr(0, end));
  if (end == std::string_view::npos) {
    unread_ = {};
    return std::nullopt;
  }
  unread_.remove_prefix(end + 1);
  given_ = true;
  return FileLine{line_, ++number_, too_long_, false};
}

std::optional<FileLine> LineSplitter::rest() {
  if (!any_ || given_) return std::nullopt;
  given_ = true;
  return FileLine{line_, ++number_, too_long_, true};
}

}  // namespace weft
