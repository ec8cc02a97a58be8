// Host memory that runs out on purpose: while a FailingMemory lives, operator new fails from the n-th call on.
//
// For tests only, one object at a time, any thread allocates. Brings replacements of operator new and delete into the
// program, so it belongs into programs of its own.
#pragma once

namespace weft::test {

enum class Failure { once, from_then_on };

class FailingMemory {
 public:
  // `calls` allocations succeed, then one fails, or all of them do.
  FailingMemory(long calls, Failure failure);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  bool struck() const;  // an allocation has failed
};

}  // namespace weft::test
