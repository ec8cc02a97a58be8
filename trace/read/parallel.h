// Many files at once: each is read by one thread, as many threads as there are processors.
//
// Used by runs.cpp and summary.cpp, in the weft command only. The caller waits, and puts what came of the files
// together in their order, so results do not depend on who was faster.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

#include "trace/read/progress.h"

namespace weft {

// How many threads so many files are worth; at least 1, and never so many that their buffers count.
std::size_t readers_for(std::size_t files);

// Calls work(reader, index) for each index below `count`; calls of the same reader come one after the other. The first
// exception is thrown again when all have ended.
void for_each_file(std::size_t count, std::size_t readers,
                   const std::function<void(std::size_t reader, std::size_t index)>& work);

// The progress of one of several readers: lines are counted without a lock, and passed on some of them together.
class ReaderProgress : public ReadProgress {
 public:
  // `progress` may be nullptr.
  ReaderProgress(ReadProgress* progress, std::mutex& mutex) : progress_(progress), mutex_(mutex) {}
  ~ReaderProgress() override { pass_on(); }
  ReaderProgress(const ReaderProgress&) = delete;
  ReaderProgress& operator=(const ReaderProgress&) = delete;

  void begin(const char*, std::uint64_t) override {}  // whoever has the readers does it once
  void advance(std::uint64_t bytes) override {
    bytes_ += bytes;
    if (bytes_ >= most_bytes) pass_on();
  }

 private:
  static constexpr std::uint64_t most_bytes = 256 * 1024;
  void pass_on();

  ReadProgress* progress_;
  std::mutex& mutex_;
  std::uint64_t bytes_ = 0;
};

}  // namespace weft
