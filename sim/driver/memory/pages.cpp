// Pages behind simulated memory; see pages.h. Any host thread.
#include "memory/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <deque>
#include <mutex>

namespace simgpu {
namespace {

struct Freed {
  void* base;
  std::size_t size;
};

// The last ranges given back: they keep their addresses, without memory and without access.
class Quarantine {
 public:
  void add(Freed freed) {
    mprotect(freed.base, freed.size, PROT_NONE);
    madvise(freed.base, freed.size, MADV_DONTNEED);
    const std::lock_guard lock(mutex_);
    ranges_.push_back(freed);
    if (ranges_.size() <= limit) return;
    munmap(ranges_.front().base, ranges_.front().size);
    ranges_.pop_front();
  }

 private:
  static constexpr std::size_t limit = 256;
  std::mutex mutex_;
  std::deque<Freed> ranges_;
};

void* map(std::size_t size, std::size_t alignment, void* wanted, int protection) {
  const std::size_t slack = alignment > page_size ? alignment : 0;
  if (size + slack < size) return nullptr;
  void* const base = mmap(wanted, size + slack, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  if (slack == 0) return base;
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const std::uintptr_t aligned = round_up(address, alignment);
  if (aligned > address) munmap(base, aligned - address);
  munmap(reinterpret_cast<void*>(aligned + size), address + slack - aligned);
  return reinterpret_cast<void*>(aligned);
}

}  // namespace

void* map_pages(std::size_t size, std::size_t alignment) {
  return map(size, alignment, nullptr, PROT_READ | PROT_WRITE);
}

void* map_inaccessible(std::size_t size, std::size_t alignment, void* wanted) {
  return map(size, alignment, wanted, PROT_NONE);
}

void release_pages(void* base, std::size_t size) {
  static auto* const quarantine = new Quarantine;
  quarantine->add({base, size});
}

}  // namespace simgpu
