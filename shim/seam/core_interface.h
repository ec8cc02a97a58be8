// The one seam between libweft.so (hooks, routing) and libweft-core.so (detector, runner, trace).
//
// libweft.so loads libweft-core.so after the first communicator of the process exists, calls weft_core_start() once
// with ShimServices and gets CoreServices back. Both structs are private to one build: weft_core_start() refuses
// another build_id, and the shim then stays a pass-through. Plain data and C function pointers only.
//
// Threads: CoreServices are called from hooks on the main job's threads; each says what it may do there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "detector/event.h"
#include "shim/seam/marker_words.h"

namespace weft {

// Bounded multi-producer single-consumer ring of events. Producers are hooks: wait-free, a full ring drops and counts.
// Defined in shim/seam/ring.h; the core only consumes.
struct EventRing;

// Finds the real driver function of that exact exported name (e.g. "cuMemAlloc_v2"), never a hook; nullptr: none.
// Any thread; may be slow. The core builds its typed table of driver functions from it once, at start.
using RealDriverSymbol = void* (*)(const char* name);

// Annotations of the process that never became an event.
struct UnheardAnnotations {
  std::uint64_t held_back = 0;  // the ring was three quarters full: the rest is for what the job does
  std::uint64_t refused = 0;    // of a device whose number none can have
};

struct ShimServices {
  const char* build_id = nullptr;
  EventRing* ring = nullptr;
  // The core maps and registers the words and hands them over; from then on hooks enqueue markers. Values written
  // into them before do not count: all tickets given out so far are reached. Words without a device address and
  // without events: groups are noted, with ticket 0, and no hook enqueues anything.
  void (*set_marker_words)(int device, const MarkerWords& words) = nullptr;
  RealDriverSymbol real_driver_symbol = nullptr;
  const char* driver_path = "libcuda.so.1";  // the file that the driver is, for messages
  std::uint64_t (*dropped_events)() = nullptr;
  UnheardAnnotations (*unheard_annotations)() = nullptr;  // any thread
  // After this call every hook is a plain pass-through for the rest of the process. `reason`: for the log, a string
  // literal.
  void (*turn_off)(const char* reason) = nullptr;
  // The kind of thing that did not fit into a table of the shim and is not seen, a string literal; nullptr: everything
  // fits.
  const char* (*full_table)() = nullptr;
  // The file that has loaded kernels of an NCCL whose calls are not seen; nullptr: none has. Any thread.
  const char* (*unseen_nccl)() = nullptr;
  // Streams of the device that were made so far, by anybody in the process through CUDA's API; and those that the main
  // job was seen to use and has not destroyed. Any thread.
  std::uint32_t (*streams_made)(int device) = nullptr;
  std::uint32_t (*streams_in_use)(int device) = nullptr;
  int nccl_version = 0;    // as ncclGetVersion says, e.g. 22809; 0: unknown
  int driver_version = 0;  // as cuDriverGetVersion says, e.g. 13000; 0: unknown
  // The streams of the device that may be asked, into `ids`, at most `most`; -1: there are more, or more than the shim
  // can tell apart. Then whether one of them has anything to compute left; unknown where that cannot be told: it is
  // gone, a stream captures, an error. Of one without launches behind its last marker it is known without a question,
  // also of a per-thread default stream, which cannot be asked. Copies may be left. Orders nothing. Any thread with the
  // device's context current.
  int (*list_streams_to_ask)(int device, StreamId* ids, int most) = nullptr;
  Answer (*ask_stream)(int device, StreamId stream) = nullptr;
  // `launches`: another number when anything was launched meanwhile on the device. False: that is not known, because
  // launches are not counted, some were made on streams that cannot be asked, or a thread of the main job waits in a
  // call of CUDA. Any thread.
  bool (*launches_on)(int device, std::uint32_t* launches) = nullptr;
  // No stream of the device has work left. False also where that cannot be asked: while a stream captures, after an
  // error. Main-job thread, with the device's context current.
  bool (*is_idle)(int device) = nullptr;
  // No stream of the device has got anything to compute since its last marker, or it has none left. False also where
  // that is not known. Copies to and from the host do not count. Any thread with the device's context current.
  bool (*nothing_is_enqueued)(int device) = nullptr;
  // From now on no marker is enqueued on the device but those of groups of this likeness (detector/group_shape.h), or
  // all are again. The rest is noted without. Any thread.
  void (*withhold_markers)(int device, bool withheld, std::uint64_t but_of) = nullptr;
  // From now on the core is told when a call that issued a group of this device has returned, of groups from this one
  // on; 0: no longer. Any thread.
  void (*want_calls)(int device, GroupId from) = nullptr;
  // Operations of groups are counted and noted from now on, or not. Any thread.
  void (*set_operations_noted)(bool noted) = nullptr;
  // Launches are counted from now on, or not. Any thread.
  void (*set_launches_counted)(bool counted) = nullptr;
  // From now on cuModuleUnload and cuLibraryUnload answer CUDA_ERROR_DEINITIALIZED on the calling thread, without a
  // call of the driver; or no longer.
  void (*set_unload_refused)(bool refused) = nullptr;
  // From now on quiet_moment() is called, or no longer. Any thread.
  void (*want_quiet_moments)(bool wanted) = nullptr;
  // From here on threads of the main job wait where they would launch communication, until the gate is opened again, at
  // most 60 s. False: some are launching, the gate is open. Any thread that is in no launch.
  bool (*shut_gate)() = nullptr;
  void (*open_gate)() = nullptr;
  // The core has taken device memory, so memory_taken() is asked at the next allocation on that device. Any thread.
  void (*memory_reserved)(int device) = nullptr;
  // The core counts here when device memory has come back, on any device: an allocation that has failed meanwhile is
  // worth another try. Any thread.
  std::atomic<std::uint32_t>* times_given_back = nullptr;
  // Called once by each thread the core starts: CUDA calls that a fill job makes on it are then not noted, and a failed
  // allocation on it is not rescued.
  void (*mark_own_thread)() = nullptr;
};

// As the program gave it, cut after so many bytes; any bytes but zero. "": it gave none.
struct CommunicatorName {
  char text[128];
};

// A communicator as the shim knows it when it has been opened.
struct CommunicatorInfo {
  CommunicatorId id;
  int device;
  int rank;
  int ranks;
  std::uint64_t shared_id = 0;  // equal on all its ranks; 0: not known
  CommunicatorName name{};
};

struct CoreServices {
  // A communicator was opened / was finalized or destroyed, or is about to be aborted or revoked. Main-job thread,
  // outside NCCL. The first opening on a device prepares it (memory, fill job, thread), synchronously: a quiet time.
  // Closing the last one ends filling on the device and writes the summary and the end lines.
  void (*communicator_opened)(const CommunicatorInfo& communicator) = nullptr;
  void (*communicator_closing)(CommunicatorId communicator) = nullptr;
  // An allocation of the main job failed: no memory is left. Gives the reservation back if that is safe now and returns
  // true when memory was released, so that the caller tries once more. Main-job thread.
  bool (*rescue_memory)(int device) = nullptr;
  // The main job has taken device memory. Gives the reservation back where less than the head-room is left; waits only
  // some milliseconds. How many bytes may be taken before it wants to hear of it again. Main-job thread.
  std::uint64_t (*memory_taken)(int device) = nullptr;
  // The main job is about to destroy or reset the context of the device: stop, drop all handles. Main-job thread.
  void (*context_closing)(int device) = nullptr;
  // The host has waited for the device, or for a part of it: what could not be set up so far may be, if nothing is
  // pending. Main-job thread, after the wait; only where quiet moments are wanted.
  void (*quiet_moment)(int device) = nullptr;
  // The call that issued this group has returned from NCCL to its hook, and is wanted; no capture is open. Reads the
  // stack if this is one of the groups that are asked for. The first of those behind it, 0: none is. `range`: the
  // innermost NVTX range of the thread, "": none is known. Takes no lock and no memory. Main-job thread.
  GroupId (*call_returned)(int device, GroupId group, const char* range) = nullptr;
};

}  // namespace weft

// The one export of libweft-core.so. True: `core` is filled. False: not started, and the log says why, except for
// WEFT=off.
extern "C" bool weft_core_start(const weft::ShimServices* shim, weft::CoreServices* core);
using WeftCoreStart = decltype(&weft_core_start);
