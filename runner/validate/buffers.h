// The buffers that CUPTI fills with activity records: a fixed pool, lent and taken back without a lock or an
// allocation.
//
// CUPTI asks for a buffer on any thread, also one of the training inside a launch, and gives it back on a thread of its
// own or on the one that flushes. The validation's thread empties full ones. Where none is free CUPTI gets none and
// drops records, which it counts. One pool per process; it is never destroyed, as CUPTI may call at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "runner/validate/cupti_abi.h"

namespace weft::cupti {

class Buffers {
 public:
  static constexpr std::size_t count = 16;
  static constexpr std::size_t bytes = std::size_t{4} << 20;  // CUPTI's documentation advises 1 to 10 MB

  // Maps the pool; false: there is no address space for it. The pages come into being when CUPTI writes them.
  bool make() noexcept;
  // From here on CUPTI gets buffers, or none any more.
  void lend(bool on) noexcept { lending_.store(on, std::memory_order_release); }

  // Any thread; these are what CUPTI calls.
  std::uint8_t* take() noexcept;  // nullptr: none is free
  void give_back(std::uint8_t* buffer, std::size_t valid) noexcept;

  // The validation's thread: each full buffer, in the order in which they were given back, then free again.
  void empty(const std::function<void(std::uint8_t* buffer, std::size_t valid)>& take_records);

 private:
  enum class State : std::uint32_t { free, lent, full };
  struct Slot {
    std::atomic<State> state{State::free};
    std::size_t valid = 0;    // with `full`
    std::uint64_t order = 0;  // likewise: which came back first
  };

  std::uint8_t* memory_ = nullptr;
  std::atomic<bool> lending_{false};
  std::atomic<std::uint64_t> given_back_{0};
  std::array<Slot, count> slots_;
};

// The two functions for cuptiActivityRegisterCallbacks: they carry no pointer of ours, so they work with this pool.
// False: another one is there already.
bool use_for_callbacks(Buffers& buffers) noexcept;
void request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) noexcept;
void complete_buffer(CUctx_st* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                     std::size_t valid) noexcept;

}  // namespace weft::cupti
