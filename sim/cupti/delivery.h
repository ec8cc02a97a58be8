// From the activities that the engine tells to records in the client's buffers.
//
// note() is called under the engine's lock and only appends. A thread of this library packs what was noted into
// buffers; a flush does the same on the caller's thread. The client's callbacks are called on these two only.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "simgpu/kernels.h"

namespace simgpu::cupti {

class Delivery {
 public:
  void set_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
  bool has_callbacks();
  void want(CUpti_ActivityKind kind, bool wanted);
  bool wants(CUpti_ActivityKind kind) const { return (kinds_.load() >> kind & 1) != 0; }
  void drop_every(std::uint64_t nth) { drop_every_ = nth; }

  void note(const simgpu_activity& activity);
  void flush();                // all that was noted, and buffers that are not full
  std::size_t take_dropped();  // since the last call

 private:
  struct Noted {
    simgpu_activity activity;
    const char* name;
  };
  void start_thread();
  void pack_noted();
  template <class Record>
  void pack(const Record& record);
  void pack(const Noted& noted);
  bool has_room(std::size_t bytes);
  void complete();

  std::atomic<std::uint64_t> kinds_{0};
  std::atomic<std::size_t> dropped_{0};
  std::uint64_t drop_every_ = 0, count_ = 0;
  std::mutex noting_;
  std::vector<Noted> noted_;
  std::unordered_set<std::string> names_;  // stay where they are, as records point at them
  std::mutex packing_;                     // the rest
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  std::uint8_t* buffer_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
  bool running_ = false;
};

// Of the process; never destroyed.
Delivery& delivery();

// The time of CUPTI's clock at a time of CLOCK_MONOTONIC, both nanoseconds.
std::uint64_t cupti_time(std::int64_t monotonic);

// The record at `offset` of a buffer, its size into `size`; nullptr: none can be there.
CUpti_Activity* record_at(std::uint8_t* buffer, std::size_t valid, std::size_t offset, std::size_t& size);

}  // namespace simgpu::cupti
