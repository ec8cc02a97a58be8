// The replaced operator new; see the header. Runs on whatever thread allocates, so it may not allocate itself.
#include "tests/trace/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace weft::test {
namespace {

std::atomic<bool> armed{false};
std::atomic<long> calls_left{0};
std::atomic<bool> one_only{false};
std::atomic<bool> failed{false};

bool may_allocate() {
  if (!armed.load(std::memory_order_acquire)) return true;
  const long left = calls_left.fetch_sub(1, std::memory_order_acq_rel);
  if (left > 0 || (left < 0 && one_only.load(std::memory_order_relaxed))) return true;
  failed.store(true, std::memory_order_release);
  return false;
}

}  // namespace

FailingMemory::FailingMemory(long calls, Failure failure) {
  failed = false;
  one_only = failure == Failure::once;
  calls_left = calls;
  armed.store(true, std::memory_order_release);
}

FailingMemory::~FailingMemory() {
  armed.store(false, std::memory_order_release);
}

bool FailingMemory::struck() const {
  return failed.load(std::memory_order_acquire);
}

}  // namespace weft::test

void* operator new(std::size_t size) {
  void* const memory = weft::test::may_allocate() ? std::malloc(size == 0 ? 1 : size) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
