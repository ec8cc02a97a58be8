// See ranges.h.
#include "shim/main_job/ranges.h"

#include <atomic>

#include "shim/process.h"

namespace weft {
namespace {

constexpr std::uint32_t most_threads = 256;
constexpr std::uint32_t deepest = 8;  // with a text
constexpr std::uint32_t most_texts = 1024;

struct RangeText {
  char bytes[longest_range + 1];
};

struct ThreadRanges {
  std::uint32_t depth;
  RangeText text[deepest];
};

constinit ThreadRanges ranges[most_threads]{};
constinit std::atomic<std::uint32_t> threads{0};
constinit RangeText texts[most_texts]{};
constinit std::atomic<std::uint32_t> kept_texts{0};

void copy(RangeText& to, const char* text) noexcept {
  std::uint32_t bytes = 0;
  for (; text != nullptr && bytes < longest_range && text[bytes] != '\0'; ++bytes) to.bytes[bytes] = text[bytes];
  to.bytes[bytes] = '\0';
}

// A thread keeps its place for good, also when it has ended.
ThreadRanges* of_this_thread(bool wanted) noexcept {
  if (thread_state.ranges == 0 && wanted && threads.load(std::memory_order_relaxed) < most_threads) {
    const std::uint32_t place = threads.fetch_add(1, std::memory_order_relaxed);
    if (place < most_threads) thread_state.ranges = place + 1;
  }
  return thread_state.ranges == 0 ? nullptr : &ranges[thread_state.ranges - 1];
}

}  // namespace

int push_range(const char* text) noexcept {
  ThreadRanges* const open = of_this_thread(true);
  if (open == nullptr) return -1;
  if (open->depth < deepest) copy(open->text[open->depth], text);
  return static_cast<int>(open->depth++);
}

int pop_range() noexcept {
  ThreadRanges* const open = of_this_thread(false);
  if (open == nullptr || open->depth == 0) return -1;
  return static_cast<int>(--open->depth);
}

const char* innermost_range() noexcept {
  const ThreadRanges* const open = of_this_thread(false);
  return open == nullptr || open->depth == 0 || open->depth > deepest ? "" : open->text[open->depth - 1].bytes;
}

const char* keep_text(const char* text) noexcept {
  if (kept_texts.load(std::memory_order_relaxed) >= most_texts) return nullptr;
  const std::uint32_t place = kept_texts.fetch_add(1, std::memory_order_relaxed);
  if (place >= most_texts) return nullptr;
  copy(texts[place], text);
  return texts[place].bytes;
}

}  // namespace weft
