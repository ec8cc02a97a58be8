// How far a long reading of traces has come, for whoever shows it. Of a trace the bytes count, as its size is known.
//
// Implemented by verbs that show a progress bar; called while lines go by, on the thread that reads.
#pragma once

#include <cstdint>
#include <string>

#include "trace/read/reader.h"

namespace weft {

class ReadProgress {
 public:
  virtual ~ReadProgress() = default;
  // From here on `bytes` are to be read; `what` says for what, a string literal.
  virtual void begin(const char* what, std::uint64_t bytes) = 0;
  virtual void advance(std::uint64_t bytes) = 0;
};

// As read_trace(), and says how much went by; the lines before the first header are not counted. `progress` may be
// nullptr.
TraceDamage read_trace(const std::string& path, TraceSink& sink, ReadProgress* progress);

// Bytes; 0: it has gone.
std::uint64_t size_of_trace(const std::string& path);

}  // namespace weft
