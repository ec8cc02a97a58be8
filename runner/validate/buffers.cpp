// See the header.
#include "runner/validate/buffers.h"

#include <sys/mman.h>

#include <algorithm>

namespace weft::cupti {
namespace {

std::atomic<Buffers*> the_buffers{nullptr};

}  // namespace

bool Buffers::make() noexcept {
  if (memory_ != nullptr) return true;
  void* const pages =
      ::mmap(nullptr, count * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return false;
  memory_ = static_cast<std::uint8_t*>(pages);
  return true;
}

std::uint8_t* Buffers::take() noexcept {
  if (!lending_.load(std::memory_order_acquire)) return nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    State expected = State::free;
    if (slots_[i].state.compare_exchange_strong(expected, State::lent, std::memory_order_acq_rel))
      return memory_ + i * bytes;
  }
  return nullptr;
}

// A buffer of an earlier subscriber may come here, too: it is nobody's any more.
void Buffers::give_back(std::uint8_t* buffer, std::size_t valid) noexcept {
  if (memory_ == nullptr || buffer < memory_ || buffer >= memory_ + count * bytes) return;
  Slot& slot = slots_[static_cast<std::size_t>(buffer - memory_) / bytes];
  slot.valid = std::min(valid, bytes);
  slot.order = given_back_.fetch_add(1, std::memory_order_relaxed);
  slot.state.store(State::full, std::memory_order_release);
}

void Buffers::empty(const std::function<void(std::uint8_t*, std::size_t)>& take_records) {
  std::array<std::size_t, count> full{};
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (slots_[i].state.load(std::memory_order_acquire) == State::full) full[found++] = i;
  std::sort(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(found),
            [this](std::size_t left, std::size_t right) { return slots_[left].order < slots_[right].order; });
  for (std::size_t i = 0; i < found; ++i) {
    take_records(memory_ + full[i] * bytes, slots_[full[i]].valid);
    slots_[full[i]].state.store(State::free, std::memory_order_release);
  }
}

bool use_for_callbacks(Buffers& buffers) noexcept {
  Buffers* none = nullptr;
  return the_buffers.compare_exchange_strong(none, &buffers) || none == &buffers;
}

void request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) noexcept {
  Buffers* const buffers = the_buffers.load(std::memory_order_acquire);
  *buffer = buffers == nullptr ? nullptr : buffers->take();
  *size = *buffer == nullptr ? 0 : Buffers::bytes;
  *most_records = 0;  // as many as fit
}

void complete_buffer(CUctx_st*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) noexcept {
  Buffers* const buffers = the_buffers.load(std::memory_order_acquire);
  if (buffers != nullptr) buffers->give_back(buffer, valid);
}

}  // namespace weft::cupti
