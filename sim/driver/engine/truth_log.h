// The ground truth: one JSON Lines file per process and device, gpu<device>.<pid>.jsonl in SIMGPU_LOG. Records are
// added under the engine's lock and written later, without it, by the engine's thread and at exit; never fsync. Tests
// hold the detector and the trace against it, so nothing is left out or rounded.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/time.h"

namespace simgpu {

class TruthLog {
 public:
  // Does nothing when the directory is empty; says on stderr when the file cannot be made.
  void open(const std::string& directory, int device, unsigned multiprocessors);
  bool enabled() const { return file_ >= 0; }
  bool has_pending() const { return !pending_.empty(); }
  void add(std::string_view json_object);  // engine's lock
  std::string take();                      // engine's lock
  void write(const std::string& lines);    // no lock

 private:
  int file_ = -1;
  std::string pending_;
  std::mutex writing_;
};

// One JSON object, built field by field.
class Record {
 public:
  explicit Record(std::string_view type);
  Record& add(std::string_view name, std::string_view value);
  Record& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  Record& add(std::string_view name, int64_t value);
  Record& add(std::string_view name, uint64_t value) { return add(name, static_cast<int64_t>(value)); }
  Record& add(std::string_view name, int value) { return add(name, static_cast<int64_t>(value)); }
  Record& add(std::string_view name, unsigned value) { return add(name, static_cast<int64_t>(value)); }
  Record& add(std::string_view name, bool value);
  Record& add(std::string_view name, Time time) { return add(name, nanoseconds(time)); }
  Record& add(std::string_view name, Duration duration) { return add(name, static_cast<int64_t>(duration.count())); }
  std::string text() const { return text_ + "}"; }

 private:
  void key(std::string_view name);
  std::string text_ = "{";
};

// Names of threads as small numbers. current_thread() reads the calling thread's name at most once a millisecond.
uint32_t current_thread(Time now);
std::string thread_name(uint32_t number);

}  // namespace simgpu
