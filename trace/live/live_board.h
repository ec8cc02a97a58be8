// The numbers of a rank's page on their way from the dispatcher to the writer thread of the trace: a place with a
// sequence counter, which neither of them waits at.
//
// put() is called by one thread at a time and is wait-free: some hundred stores, no lock, no memory, no system call.
// take() may be called by another thread at any time; where it meets a put() it tries again, and gives up soon.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "trace/live/live_page.h"

namespace weft {

class LiveBoard {
 public:
  void put(const LiveNumbers& numbers) noexcept {
    const std::uint64_t sequence = sequence_.load(std::memory_order_relaxed);
    sequence_.store(sequence + 1, std::memory_order_relaxed);  // odd: the words are of two moments
    const char* const bytes = reinterpret_cast<const char*>(&numbers);
    for (std::size_t place = 0; place < words_.size(); ++place) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + place * sizeof word, sizeof word);
      words_[place].store(word, std::memory_order_release);  // not in front of the odd number
    }
    sequence_.store(sequence + 2, std::memory_order_release);
  }

  // The number of the put() whose numbers these are; 0: there was none, or it goes on.
  std::uint64_t take(LiveNumbers& numbers) const noexcept {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      const std::uint64_t before = sequence_.load(std::memory_order_acquire);
      if (before == 0) return 0;
      char* const bytes = reinterpret_cast<char*>(&numbers);
      for (std::size_t place = 0; place < words_.size(); ++place) {
        const std::uint64_t word = words_[place].load(std::memory_order_acquire);
        std::memcpy(bytes + place * sizeof word, &word, sizeof word);
      }
      if (before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before) return before;
    }
    return 0;
  }

 private:
  static constexpr int most_attempts = 8;
  static_assert(sizeof(LiveNumbers) % sizeof(std::uint64_t) == 0);

  std::atomic<std::uint64_t> sequence_{0};
  std::array<std::atomic<std::uint64_t>, sizeof(LiveNumbers) / sizeof(std::uint64_t)> words_{};
};

}  // namespace weft
