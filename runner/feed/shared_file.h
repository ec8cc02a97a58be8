// A file in the feeder's folder in shared memory, by which a rank and the feeder meet.
//
// The rank makes it, holds a lock on it while it lives, and gives it its name when the header stands in it. Each side
// maps it. Used by channel.h and job_channel.h. Throws std::runtime_error, one line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runner/fill/file_identity.h"

namespace weft {

class SharedFile {
 public:
  // The rank's: new, of so many bytes, locked. `make_header` writes into its first page before anybody sees it.
  static SharedFile create(const std::string& folder, std::string_view ending, std::uint64_t bytes,
                           const std::function<void(void*)>& make_header);
  // The feeder's: at least so large, and of this user.
  static SharedFile open(const std::string& path, std::uint64_t bytes);
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&&) = delete;
  ~SharedFile();

  void* pages() const { return pages_; }  // of the bytes with which it was made
  const std::string& path() const { return path_; }
  std::string folder() const { return path_.substr(0, path_.rfind('/')); }
  std::uint64_t bytes() const;  // of all of it
  // How much more may be taken in its folder: most of what is free stays free, for NCCL and data loaders live there.
  std::uint64_t room() const;
  // All of it has its memory from here on, so that none is missing when it is touched.
  void grow(std::uint64_t bytes) const;
  void* map(std::uint64_t offset, std::uint64_t bytes) const;
  // Of the feeder: whether the process that made it still holds it.
  bool is_locked() const;
  void remove() const noexcept;  // its name

 private:
  SharedFile(std::string path, int file);

  std::string path_;
  int file_ = -1;
  FileIdentity identity_;
  void* pages_ = nullptr;
  std::uint64_t mapped_ = 0;
};

}  // namespace weft
