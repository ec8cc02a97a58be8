// The file of all results, in which result k stands at its place. It is put together from its shards when all of them
// are there.
//
// Used by the feeder. By the ending of its name it becomes .npy (one output of fixed size), .safetensors (any), .jsonl
// (any of whole or other numbers), a folder of PNG files (one output that is a picture), or raw bytes (one output of
// fixed size). Throws FileError.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "feeder/files/written_file.h"
#include "runner/feed/tensor.h"

namespace weft {

// Throws FileError where the outputs of a job cannot be written into a file of this name.
void check_results(const std::string& results, const std::vector<Tensor>& outputs);

// Results of consecutive records, for one output: all values, and of variable length how many steps each has.
struct ResultsPart {
  std::vector<std::byte> values;
  std::vector<std::uint32_t> lengths;
};

// Of so many records as JSON Lines. One output: lists. Several: objects with a list for each.
std::string lines_of(const std::vector<Tensor>& outputs, const std::vector<ResultsPart>& parts, std::uint64_t records);

class ResultsFolder;

class ResultsFile {
 public:
  // Writes to `path`. `results`: the name by which it will go. With room for all of it, where that is known. `inputs`:
  // see picture_names().
  ResultsFile(const std::string& path, const std::string& results, const std::vector<Tensor>& outputs,
              std::uint64_t records, const std::vector<std::string>& inputs = {});
  ~ResultsFile();
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;

  // The next records, in order; a part for each output.
  void append(const std::vector<ResultsPart>& outputs);
  void sync();  // to the disk

 private:
  void append_lines(const std::vector<ResultsPart>& outputs, std::uint64_t records);

  const std::vector<Tensor> outputs_;
  const bool are_lines_;
  std::unique_ptr<WrittenFile> file_;
  std::unique_ptr<ResultsFolder> folder_;         // in its place
  std::vector<std::uint64_t> offsets_, lengths_;  // of the first record; lengths: 0 where there are none
  std::uint64_t written_ = 0;                     // records, or bytes of lines
};

}  // namespace weft
