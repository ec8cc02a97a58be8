// The objects behind the handles of the driver API: device, context, stream, event. Handles are validated with
// slab<T>.find (slab.h). Fields marked [lock] are read and written under engine().lock() only.
// Functions (CUfunction, CUkernel), modules, pools and graphs are declared by the files that own them.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/multiprocessors.h"
#include "engine/time.h"
#include "memory/capacity.h"
#include "simgpu/constants.h"

namespace simgpu {

inline constexpr int greatest_priority = 1 - int{constants::stream_priorities};  // the lowest is 0, the default

struct Context;
struct Stream;
struct StreamItem;
struct DeviceModel;

// Owned by the capture code: a capture in progress, and the place in a captured graph that an event stands for.
struct Capture;
struct CapturedPoint;
class EventRecord;

struct Device {
  Device(int number, std::size_t bytes);
  ~Device();

  const int ordinal;
  std::unique_ptr<DeviceModel> model;  // [lock]
  std::vector<Context*> contexts;      // [lock]
  Context* primary = nullptr;          // [lock] null until first retained
  int primary_references = 0;          // [lock]
  unsigned primary_flags = 0;          // [lock]
  int holding_calls = 0;               // [lock] that wait, and hold up the launches of other threads meanwhile

  Capacity memory;  // charged by every allocation on the device
};

struct HardwareQueue {
  StreamItem* head = nullptr;  // [lock] the next to issue; nothing behind it can issue before
  StreamItem* tail = nullptr;  // [lock]
  // [lock] Have left the queue before their turn in their stream: they wait for that and hold nobody up.
  std::vector<StreamItem*> passed;
  unsigned entries = 0;  // [lock] taken by calls whose command has not finished, wherever it stands
};

struct Context {
  Device* device = nullptr;
  uint64_t id = 0;
  unsigned flags = 0;
  unsigned api_version = 3020;
  bool is_primary = false;
  Context* green_of = nullptr;                // of a green context: the primary one that it belongs to
  SmShare share;                              // where its kernels may run
  std::atomic<CUresult> error{CUDA_SUCCESS};  // sticky: every later call returns it
  Stream* legacy = nullptr;
  std::vector<Stream*> streams;     // [lock] all, the default streams too
  std::vector<EventRecord*> waits;  // [lock] that streams made later have to wait for; each is referenced
  unsigned connections = 0;         // queues for each class of priorities; 0: its streams have those of green_of
  // [lock] The ones for each class of priorities, one class after the other; there may be one class for all.
  std::vector<HardwareQueue> queues;
  std::vector<unsigned> next_queue;  // [lock] of each class
  std::size_t limits[16] = {};
  int waiting_threads = 0;  // [lock] for the context
  int standing_calls = 0;   // [lock] that wait for an entry in a hardware queue
  bool is_ending = false;   // [lock] those are let go, and put nothing on its streams any more
};

enum class StreamKind : uint8_t { explicit_blocking, explicit_non_blocking, legacy, per_thread };

struct Stream {
  Context* context = nullptr;
  StreamKind kind = StreamKind::explicit_blocking;
  unsigned flags = 0;
  int priority = 0;  // [lock] 0 is the lowest, negative is higher
  uint64_t id = 0;
  HardwareQueue* queue = nullptr;
  StreamItem* head = nullptr;   // [lock] the oldest command that has not finished
  StreamItem* tail = nullptr;   // [lock]
  Time last_end = Time::min();  // [lock] logical end of the last finished command
  Time last_due = Time::min();  // [lock] likewise, where no hardware queue had held up those that do no work
  bool destroyed = false;       // [lock] the handle is gone; released when the last command has finished
  Capture* capture = nullptr;   // [lock] set by the capture code
  unsigned sync_policy = 0;     // CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, stored only
  CUlaunchMemSyncDomainMap mem_sync_domain_map{};
  unsigned mem_sync_domain = 0;

  bool blocking() const { return kind != StreamKind::explicit_non_blocking && kind != StreamKind::legacy; }
  bool idle() const { return head == nullptr; }
};

// One cuEventRecord. Reference counted under the engine's lock; pooled, so that recording does not allocate.
class EventRecord {
 public:
  bool done = false;
  uint32_t parts = 1;  // streams that have still to get to it
  Time at{};
  Time due = Time::min();  // when the program has put nothing before it that is left, in any of those streams
  uint64_t stream = 0;     // where it was recorded; 0: in a graph, or nowhere
  uint32_t references = 0;
  EventRecord* next_free = nullptr;
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  EventRecord* last = nullptr;              // [lock] null: never recorded, which counts as finished
  std::shared_ptr<CapturedPoint> captured;  // [lock] set by the capture code; replaces `last` while set
};

}  // namespace simgpu
