// The doorbell page; see doorbell.h.
#include "engine/doorbell.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <new>

namespace simgpu {

static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

Doorbell::Doorbell() {
  constexpr std::size_t page_bytes = 4096;
  fd_ = memfd_create("simgpu-doorbell", MFD_CLOEXEC);
  void* page = MAP_FAILED;
  if (fd_ >= 0 && ftruncate(fd_, page_bytes) == 0) {
    page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  }
  // Without memfd the engine still works; only other processes cannot ring.
  if (page == MAP_FAILED) page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::bad_alloc();
  word_ = new (page) std::atomic<uint32_t>(0);
}

void Doorbell::ring() {
  word_->fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, word_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::sleep(uint32_t seen, Time deadline) const {
  timespec at{};
  const timespec* timeout = nullptr;
  if (deadline != Time::max()) {
    const int64_t count = nanoseconds(deadline);
    at.tv_sec = count / 1'000'000'000;
    at.tv_nsec = count % 1'000'000'000;
    timeout = &at;
  }
  syscall(SYS_futex, word_, FUTEX_WAIT_BITSET, seen, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace simgpu
