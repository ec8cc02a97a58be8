// Reads a recording back, block by block. Takes whatever a killed job, a full disk or a stranger has left.
//
// Used by the weft command and by tests, never inside the training process. Memory does not grow with the file. The
// contents of blocks of calls are for Replay.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "runner/recording/format.h"
#include "trace/record.h"

namespace weft {

// A file that is no recording, or not one for this Weft, or is damaged; one line, without the file's name.
struct RecordingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct RecordingBlock {
  BlockKind kind{};
  std::string contents;
};

// A header block.
struct RecordedHeader {
  std::uint64_t layout = 0;  // record_layout() of the Weft that made it
  TraceHeader header;
};
RecordedHeader header_in(const RecordingBlock& block);

// An end block.
struct RecordedEnd {
  RecordingEnd end{};
  std::optional<TraceSummary> summary;
};
RecordedEnd end_in(const RecordingBlock& block);

class RecordingReader {
 public:
  // Throws RecordingError, as all functions here do.
  explicit RecordingReader(const std::string& path);
  explicit RecordingReader(std::unique_ptr<std::istream> file);

  // Nothing: the file is over. Blocks come in an order that can be: header, calls..., end, and again.
  std::optional<RecordingBlock> next();
  // It broke off within a block, or before an end.
  bool was_cut() const { return cut_; }

 private:
  std::size_t read(char* bytes, std::size_t size);
  void check_order(BlockKind kind);

  std::unique_ptr<std::istream> file_;
  std::uint64_t place_ = 0;  // in the file
  bool in_session_ = false;  // after a header, before its end
  bool cut_ = false;
};

}  // namespace weft
