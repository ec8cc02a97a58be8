// The thread of the validation: starts CUPTI's records, empties its buffers into the truth file, reads both clocks
// every second, and ends the file when it is told to.
//
// Where the process leaves first, an exit handler has the thread end the file. Made and told by Validation on threads
// of the main job; all else happens on its own thread, which is detached and shares the ownership. No thread of the
// training waits for a lock that this thread holds for longer than it takes to move a short text.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "runner/options/variables.h"
#include "runner/validate/cupti_session.h"
#include "runner/validate/truth_lines.h"
#include "trace/write/file.h"

namespace weft {

struct RecorderSettings {
  std::string library;  // WEFT_CUPTI
  Variables environment;
  std::uint64_t limit = 0;      // bytes of the file
  std::string directory, name;  // of the file
  TruthHeader header;
  void (*mark_own_thread)() = nullptr;
};

class TruthRecorder : public std::enable_shared_from_this<TruthRecorder> {
 public:
  // `session` lives as long as the process.
  TruthRecorder(RecorderSettings settings, CuptiSession& session);

  bool start();  // false: no thread
  // The recorder's thread has begun or has given up.
  bool is_decided() const { return decided_.load(std::memory_order_acquire); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  void end() { end_wanted_.store(true, std::memory_order_release); }
  // A line for the file; any thread.
  void add(const std::string& line);

  // After is_decided(): why nothing is recorded, "" if it is.
  const std::string& off() const { return off_; }
  // After ended().
  const TruthCounts& counts() const { return counts_; }

 private:
  void live() noexcept;
  void run();
  std::string begin();
  void take_records();
  void take_buffer(std::uint8_t* buffer, std::size_t valid);
  void read_clocks();
  void write(const std::string& text, std::uint64_t records = 1);
  void write_pending();
  void finish();

  const RecorderSettings settings_;
  CuptiSession& session_;
  std::atomic<bool> decided_{false}, ended_{false}, end_wanted_{false};
  std::string off_;
  std::mutex mutex_;
  std::string pending_;  // guarded by mutex_
  // The thread's own.
  TruthLines lines_;
  TruthCounts counts_;
  TraceFileHandle file_;
  bool full_ = false;  // the file has reached its limit or cannot be written
};

}  // namespace weft
