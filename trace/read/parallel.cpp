// One counter that all readers take their next file from; see the header.
#include "trace/read/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace weft {

std::size_t readers_for(std::size_t files) {
  constexpr std::size_t most = 8;
  return std::clamp<std::size_t>(std::min<std::size_t>(std::thread::hardware_concurrency(), files), 1, most);
}

void for_each_file(std::size_t count, std::size_t readers,
                   const std::function<void(std::size_t reader, std::size_t index)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto read = [&](std::size_t reader) {
    try {
      for (std::size_t index = next++; index < count; index = next++) work(reader, index);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t reader = 1; reader < readers; ++reader) threads.emplace_back(read, reader);
    } catch (const std::system_error&) {
      // No more threads are allowed here: those that there are read everything.
    }
    read(0);
  }
  if (failure) std::rethrow_exception(failure);
}

void ReaderProgress::pass_on() {
  const std::uint64_t bytes = std::exchange(bytes_, 0);
  if (progress_ == nullptr || bytes == 0) return;
  const std::lock_guard lock(mutex_);
  progress_->advance(bytes);
}

}  // namespace weft
