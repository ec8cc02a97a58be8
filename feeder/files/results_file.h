// The file that results are written to, of all records from its begin on: result k stands at its place, whenever it is
// written, and by whichever process.
//
// Used by the feeder, by several threads, also on several hosts that share the file system. While work goes on it has
// another name than the user's (feeder/ledger.h). By the ending of the user's name it becomes .npy (one output of fixed
// size), .safetensors (any), .jsonl (any of whole or other numbers), or raw bytes (one output of fixed size). Throws
// FileError.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/feed/tensor.h"

namespace weft {

// Throws FileError where the outputs of a job cannot be written into a file of this name.
void check_results(const std::string& results, const std::vector<Tensor>& outputs);

class ResultsFile {
 public:
  // Makes it at `path`, with room for all of it, or empties what stands there. `results`: the name by which it will go.
  static void create(const std::string& path, const std::string& results, const std::vector<Tensor>& outputs,
                     std::uint64_t records);

  ResultsFile(std::string path, const std::string& results, const std::vector<Tensor>& outputs, std::uint64_t records);
  ~ResultsFile();
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;

  void write(std::size_t output, std::uint64_t record, std::span<const std::byte> value);
  void write_length(std::size_t output, std::uint64_t record, std::uint32_t length);
  void read(std::size_t output, std::uint64_t record, std::span<std::byte> value) const;
  std::uint32_t length(std::size_t output, std::uint64_t record) const;
  void sync();  // to the disk

  // Writes all of it as JSON Lines.
  void export_lines(const std::string& path) const;

 private:
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

  const std::string path_;
  int file_ = -1;
  const std::vector<Tensor> outputs_;
  const std::uint64_t records_;
  std::vector<std::uint64_t> offsets_, lengths_;  // of the first record; lengths: 0 where there are none
};

}  // namespace weft
