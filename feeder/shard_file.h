// The results of one shard while it is in work: a file of its own, which one process writes at a time.
//
// A byte for each record, 1 when its result is on the disk; then the outputs, each with its lengths. Used by the
// feeder: different threads at different times. Throws FileError.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runner/feed/tensor.h"

namespace weft {

class ShardFile {
 public:
  // Makes the content of one that is empty. `records`: of this shard.
  ShardFile(std::string path, const std::vector<Tensor>& outputs, std::uint64_t records);
  ~ShardFile();
  ShardFile(const ShardFile&) = delete;
  ShardFile& operator=(const ShardFile&) = delete;

  // All of it, on the disk, in a new file of another name.
  static void copy(const std::string& from, const std::string& to);
  // Its content in a new file of that name: whoever had it before, and still writes, writes into the old one. False:
  // meanwhile the name has become another file's.
  static bool renew_content(const std::string& path);

  std::vector<char> marks() const;
  void mark(std::uint64_t record);
  void write(std::size_t output, std::uint64_t record, std::span<const std::byte> value);
  void write_length(std::size_t output, std::uint64_t record, std::uint32_t length);
  // Of all records.
  std::vector<std::byte> values(std::size_t output) const;
  std::vector<std::uint32_t> lengths(std::size_t output) const;  // of one of fixed size: none
  void sync();                                                   // to the disk

 private:
  struct Place {
    std::uint64_t lengths = 0, values = 0, value_bytes = 0;
  };
  const std::string path_;
  const std::uint64_t records_;
  std::vector<Place> places_;
  std::uint64_t bytes_ = 0;
  int file_ = -1;
};

}  // namespace weft
