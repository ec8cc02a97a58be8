// Handles that cannot crash the driver: the objects behind API handles live in address ranges that are never unmapped,
// so a stale or invented handle is recognised instead of followed. One slab per type, `slab<Stream>` and so on. Any
// thread. An object is created alive; retire() makes its handle invalid at once, release() destroys it later.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace simgpu {

// Tells the leak checker, where there is one, that an object in mapped memory may own others.
inline void remember_as_root([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t size) {
#if defined(__SANITIZE_ADDRESS__)
  __lsan_register_root_region(begin, size);
#endif
}

template <class T>
class Slab {
 public:
  static constexpr std::size_t capacity = std::size_t{1} << 20;

  // Null when all slots are taken.
  template <class... Arguments>
  T* create(Arguments&&... arguments) {
    T* object = make(std::forward<Arguments>(arguments)...);
    if (object != nullptr) publish(object);
    return object;
  }

  // The two halves of create(): nobody finds the object before it is published.
  template <class... Arguments>
  T* make(Arguments&&... arguments) {
    Slot* slot = take();
    return slot == nullptr ? nullptr : new (slot->storage) T(std::forward<Arguments>(arguments)...);
  }
  void publish(T* object) { slot_of(object)->alive.store(true, std::memory_order_release); }

  // The object of a handle, or null when the handle was never given out or is retired.
  T* find(const void* handle) const {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(handle) - base_.load(std::memory_order_acquire);
    if (offset >= capacity * sizeof(Slot) || offset % sizeof(Slot) != 0 || handle == nullptr) return nullptr;
    auto* slot = static_cast<Slot*>(const_cast<void*>(handle));
    if (!slot->alive.load(std::memory_order_acquire)) return nullptr;
    return std::launder(reinterpret_cast<T*>(slot->storage));
  }

  // False when another thread was first: then the object belongs to that thread.
  bool retire(T* object) { return slot_of(object)->alive.exchange(false, std::memory_order_acq_rel); }

  void release(T* object) {
    Slot* slot = slot_of(object);
    slot->alive.store(false, std::memory_order_release);
    object->~T();
    const std::scoped_lock guard(mutex_);
    free_->push_back(slot);
  }

 private:
  // A power of two, so that the check of a handle needs no division.
  static constexpr std::size_t slot_size = std::bit_ceil(sizeof(T) + sizeof(std::atomic<bool>));
  struct alignas(slot_size > 4096 ? 4096 : slot_size) Slot {
    alignas(T) std::byte storage[sizeof(T)];
    std::atomic<bool> alive;
  };
  static_assert(std::is_trivially_destructible_v<Slot>);

  static Slot* slot_of(T* object) { return reinterpret_cast<Slot*>(object); }

  Slot* take() {
    const std::scoped_lock guard(mutex_);
    if (base_.load(std::memory_order_relaxed) == no_base) {
      void* range = mmap(nullptr, capacity * sizeof(Slot), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (range == MAP_FAILED) return nullptr;
      free_ = new std::deque<Slot*>;
      base_.store(reinterpret_cast<std::uintptr_t>(range), std::memory_order_release);
    }
    // First in, first out: a handle that is used after its destruction is caught rather than mistaken for a new object.
    if (used_ == capacity || free_->size() > quarantine) {
      if (free_->empty()) return nullptr;
      Slot* slot = free_->front();
      free_->pop_front();
      return slot;
    }
    auto* range = reinterpret_cast<Slot*>(base_.load(std::memory_order_relaxed));
    Slot* const slot = range + used_++;
    remember_as_root(slot, sizeof(Slot));
    return slot;
  }

  static constexpr std::size_t quarantine = 16;
  static constexpr std::uintptr_t no_base = ~std::uintptr_t{0} - (std::uintptr_t{1} << 60);
  std::atomic<std::uintptr_t> base_{no_base};
  std::mutex mutex_;
  std::deque<Slot*>* free_ = nullptr;
  std::size_t used_ = 0;
};

// Constant-initialised and never destroyed in effect: usable at any time of a process.
template <class T>
inline constinit Slab<T> slab{};

}  // namespace simgpu
