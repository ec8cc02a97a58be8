// A new file that is written at any place; and the calls that read and write all of what is asked, or throw.
//
// Used by the feeder. Every error is a FileError that names the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft {

void write_at(int file, const std::string& path, std::uint64_t offset, std::span<const std::byte> bytes);
void read_at(int file, const std::string& path, std::uint64_t offset, std::span<std::byte> bytes);

class WrittenFile {
 public:
  // Made, or emptied; with room for so many bytes where that is said.
  explicit WrittenFile(std::string path, std::uint64_t bytes = 0);
  ~WrittenFile();
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) { write_at(file_, path_, offset, bytes); }
  void sync();  // to the disk
  // Some file systems tell only now that they could not write it. Nothing is written any more.
  void close();

 private:
  const std::string path_;
  int file_ = -1;
};

// The names in a folder are on the disk, as far as that can be asked for.
void sync_folder(const std::string& path) noexcept;

}  // namespace weft
