// Where records go: a trace file, a status page, a vector in a test, or nowhere.
//
// Called by whoever steps a Session: the dispatcher thread in the training process, one thread at a time. push() never
// waits, never fails, and keeps nothing of the record but a copy.
#pragma once

#include "trace/record.h"

namespace weft {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void push(const Record& record) noexcept = 0;
};

}  // namespace weft
