// A file that is read at any place, by any thread. Every error is one line that names the path.
//
// Used by the readers of records and weights, in the feeder and in a fill job's trial; never in a training process.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

// A file that is not as it has to be, or cannot be read or written.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& path, const std::string& what) : std::runtime_error(path + ": " + what) {}
};

// Of a text from a file, which may be anything, as much as goes into a line that is said.
std::string shown(std::string_view text);

// Called every few milliseconds while a file or folder is looked through; what it throws ends that.
using StillReading = std::function<void()>;

class OpenFile {
 public:
  explicit OpenFile(std::string path);  // a regular file, to be read
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }
  bool is(const struct stat& other) const;  // the same file
  // All of it, or it throws: also where the file has become shorter since.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  std::string text(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::string path_;
  int file_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace weft
