// See the header.
#include "delivery.h"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <thread>

namespace simgpu::cupti {
namespace {

using KernelRecord = WEFT_CUPTI_KERNEL_RECORD;
using CopyRecord = WEFT_CUPTI_MEMCPY_RECORD;
using SetRecord = WEFT_CUPTI_MEMSET_RECORD;

constexpr std::chrono::milliseconds between_packings{10};
constexpr std::int64_t drift = 50'000;  // one nanosecond more in so many: 20 ppm

std::int64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

CUpti_ActivityKind kind_of(const simgpu_activity& activity) {
  if (std::strcmp(activity.kind, "kernel") == 0) return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  return std::strcmp(activity.kind, "set") == 0 ? CUPTI_ACTIVITY_KIND_MEMSET : CUPTI_ACTIVITY_KIND_MEMCPY;
}

std::uint8_t copy_kind(const char* kind) {
  if (std::strcmp(kind, "h2d") == 0) return CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  if (std::strcmp(kind, "d2h") == 0) return CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  if (std::strcmp(kind, "d2d") == 0) return CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  return CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

template <class Record>
Record common(const simgpu_activity& activity) {
  Record record{};
  record.kind = kind_of(activity);
  record.start = cupti_time(activity.start);
  record.end = cupti_time(activity.end);
  record.deviceId = static_cast<std::uint32_t>(activity.device);
  record.contextId = static_cast<std::uint32_t>(activity.context);
  record.streamId = static_cast<std::uint32_t>(activity.stream);
  record.correlationId = static_cast<std::uint32_t>(activity.correlation);
  return record;
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(KernelRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CopyRecord);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(SetRecord);
    default:
      return 0;
  }
}

}  // namespace

std::uint64_t cupti_time(std::int64_t monotonic) {
  static const std::int64_t began = now(CLOCK_MONOTONIC), offset = now(CLOCK_REALTIME) - began;
  return static_cast<std::uint64_t>(monotonic + offset + (monotonic - began) / drift);
}

CUpti_Activity* record_at(std::uint8_t* buffer, std::size_t valid, std::size_t offset, std::size_t& size) {
  if (offset + sizeof(CUpti_Activity) > valid) return nullptr;
  auto* const record = reinterpret_cast<CUpti_Activity*>(buffer + offset);
  size = size_of(record->kind);
  return size != 0 && offset + size <= valid ? record : nullptr;
}

Delivery& delivery() {
  static auto* const one = new Delivery;
  return *one;
}

void Delivery::set_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc completed) {
  const std::scoped_lock guard(packing_);
  request_ = request;
  complete_ = completed;
}

bool Delivery::has_callbacks() {
  const std::scoped_lock guard(packing_);
  return request_ != nullptr;
}

void Delivery::want(CUpti_ActivityKind kind, bool wanted) {
  const std::uint64_t bit = std::uint64_t{1} << kind;
  if (wanted)
    kinds_.fetch_or(bit);
  else
    kinds_.fetch_and(~bit);
  start_thread();
}

void Delivery::start_thread() {
  const std::scoped_lock guard(packing_);
  if (running_) return;
  running_ = true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] {
    for (;; std::this_thread::sleep_for(between_packings)) {
      const std::scoped_lock packing(packing_);
      pack_noted();
    }
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Delivery::note(const simgpu_activity& activity) {
  if (!wants(kind_of(activity))) return;
  const std::scoped_lock guard(noting_);
  if (drop_every_ != 0 && ++count_ % drop_every_ == 0) {
    ++dropped_;
    return;
  }
  const char* name = nullptr;
  if (activity.name != nullptr) name = names_.emplace(activity.name, activity.name_length).first->c_str();
  noted_.push_back({activity, name});
}

void Delivery::flush() {
  const std::scoped_lock packing(packing_);
  pack_noted();
  complete();
}

std::size_t Delivery::take_dropped() {
  return dropped_.exchange(0);
}

void Delivery::pack_noted() {
  std::vector<Noted> noted;
  {
    const std::scoped_lock guard(noting_);
    noted.swap(noted_);
  }
  if (request_ == nullptr) return;
  for (const Noted& one : noted) pack(one);
}

void Delivery::pack(const Noted& noted) {
  switch (kind_of(noted.activity)) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      auto record = common<KernelRecord>(noted.activity);
      record.name = noted.name;
      return pack(record);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      auto record = common<SetRecord>(noted.activity);
      record.bytes = noted.activity.bytes;
      return pack(record);
    }
    default: {
      auto record = common<CopyRecord>(noted.activity);
      record.bytes = noted.activity.bytes;
      record.copyKind = copy_kind(noted.activity.kind);
      return pack(record);
    }
  }
}

template <class Record>
void Delivery::pack(const Record& record) {
  if (!has_room(sizeof record)) {
    ++dropped_;
    return;
  }
  std::memcpy(buffer_ + used_, &record, sizeof record);
  used_ += sizeof record;
}

bool Delivery::has_room(std::size_t bytes) {
  if (buffer_ != nullptr && used_ + bytes > size_) complete();
  if (buffer_ == nullptr) {
    std::size_t most_records = 0;
    used_ = size_ = 0;
    request_(&buffer_, &size_, &most_records);
  }
  return buffer_ != nullptr && used_ + bytes <= size_;
}

void Delivery::complete() {
  if (buffer_ == nullptr || complete_ == nullptr) return;
  complete_(nullptr, 0, buffer_, size_, used_);
  buffer_ = nullptr;
}

}  // namespace simgpu::cupti
