// Loads libweft-core.so into a process that has a communicator, once. Called through main_job/communicators.cpp, one
// thread at a time, on a thread of the main job outside NCCL; may take long. Whatever is wrong is said in one line on
// stderr, and every hook is a pass-through from then on.
#include "shim/activate.h"

#include <dlfcn.h>

#include <cstddef>

#include "shim/main_job/annotations.h"
#include "shim/main_job/call_sites.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/marker_room.h"
#include "shim/main_job/memory_rescue.h"
#include "shim/main_job/quiet_gate.h"
#include "shim/main_job/sequences.h"
#include "shim/main_job/stream_questions.h"
#include "shim/main_job/streams.h"
#include "shim/main_job/unseen_nccl.h"
#include "shim/main_job/waits.h"
#include "shim/markers.h"
#include "shim/notes.h"
#include "shim/process.h"
#include "shim/routing/libraries.h"
#include "shim/routing/next_dlsym.h"
#include "shim/routing/proc_address.h"
#include "shim/routing/real.h"

namespace weft {
namespace {

constexpr int oldest_nccl = 21800;
constexpr int oldest_driver = 12000;

constinit CoreServices services{};
constinit std::atomic<const CoreServices*> started_core{nullptr};

// For the core, which logs the reason itself.
void turn_off(const char*) {
  set_level(Level::pass);
  wait_for_questions();
}
void set_unload_refused(bool refused) {
  thread_state.unload_refused = refused ? 1 : 0;
}
void want_quiet_moments(bool wanted) {
  quiet_moments_wanted.store(wanted, std::memory_order_relaxed);
}
void mark_own_thread() {
  ++thread_state.inside_core;
}

// A required function that the process does not have, and the file that does not have it.
Unseen missing_symbol() noexcept {
#define HOOK(library, name, presence, ...)                                   \
  if (Presence::presence == Presence::required && !has_real(Symbol::name)) { \
    return {#name, path_of(Library::library)};                               \
  }
#define CALL(library, name, presence) HOOK(library, name, presence)
#include "shim/hooks.def"
#undef HOOK
#undef CALL
  return {};
}

// Every call that matters comes to our hooks; else says why not.
bool sees_everything() noexcept {
  if (const Unseen missing = missing_symbol(); missing.function != nullptr) {
    say({"not active, because ", missing.library, " does not have ", missing.function});
    return false;
  }
  Unseen unseen = unroutable_function();
  if (unseen.function != nullptr && unseen.library == nullptr) {
    say({"not active, because this driver's cuGetProcAddress gives other functions than it exports: ",
         unseen.function});
    return false;
  }
  if (unseen.function == nullptr) unseen = find_unseen();
  if (unseen.function != nullptr) {
    say({"not active, because calls of ", unseen.function, " go past Weft: ", unseen.library,
         " stands in for it. Put libweft.so first in LD_PRELOAD, or leave that library out"});
  }
  return unseen.function == nullptr;
}

const char* unsupported(ShimServices& shim) noexcept {
  Depth inside(thread_state.inside_nccl);
  if (real<Symbol::ncclGetVersion>()(&shim.nccl_version) != ncclSuccess || shim.nccl_version < oldest_nccl) {
    return "NCCL is older than 2.18: not active";
  }
  if (real<Symbol::cuDriverGetVersion>()(&shim.driver_version) != CUDA_SUCCESS || shim.driver_version < oldest_driver) {
    return "the CUDA driver is older than 12.0: not active";
  }
  return nullptr;
}

// "<folder of libweft.so>/libweft-core.so"
bool core_path(char* path, std::size_t bytes) noexcept {
  constexpr char core_name[] = "libweft-core.so";
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&start_core), &info) == 0 || info.dli_fname == nullptr) return false;
  std::size_t folder = 0;
  for (std::size_t index = 0; info.dli_fname[index] != '\0'; ++index) {
    if (info.dli_fname[index] == '/') folder = index + 1;
  }
  if (folder + sizeof(core_name) > bytes) return false;
  for (std::size_t index = 0; index < folder; ++index) path[index] = info.dli_fname[index];
  for (std::size_t index = 0; index < sizeof(core_name); ++index) path[folder + index] = core_name[index];
  return true;
}

WeftCoreStart find_start() noexcept {
  char path[4096];
  if (!core_path(path, sizeof(path))) {
    say("libweft-core.so cannot be found next to libweft.so: not active");
    return nullptr;
  }
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* start = handle == nullptr ? nullptr : real_dlsym(handle, "weft_core_start");
  if (start == nullptr) {
    const char* reason = dlerror();
    say("the core cannot be loaded, not active: ", reason != nullptr ? reason : path);
  }
  return reinterpret_cast<WeftCoreStart>(start);
}

bool load() noexcept {
  ShimServices shim{};
  shim.build_id = WEFT_BUILD_ID;
  shim.ring = &event_ring;
  shim.set_marker_words = set_marker_words;
  shim.real_driver_symbol = real_driver_symbol;
  shim.driver_path = path_of(Library::cuda);
  shim.dropped_events = dropped_events;
  shim.unheard_annotations = unheard_annotations;
  shim.turn_off = turn_off;
  shim.full_table = full_table;
  shim.unseen_nccl = unseen_nccl;
  shim.streams_made = streams_made;
  shim.streams_in_use = streams_in_use;
  shim.list_streams_to_ask = list_streams_to_ask;
  shim.ask_stream = ask_stream;
  shim.launches_on = launches_on;
  shim.set_launches_counted = set_launches_counted;
  shim.set_operations_noted = set_operations_noted;
  shim.withhold_markers = withhold_markers;
  shim.want_calls = want_calls;
  shim.is_idle = is_idle;
  shim.nothing_is_enqueued = nothing_is_enqueued;
  shim.set_unload_refused = set_unload_refused;
  shim.want_quiet_moments = want_quiet_moments;
  shim.shut_gate = shut_gate;
  shim.open_gate = open_gate;
  shim.memory_reserved = memory_reserved;
  shim.times_given_back = &times_given_back;
  shim.mark_own_thread = mark_own_thread;
  if (const char* reason = unsupported(shim)) {
    say(reason);
    return false;
  }
  if (!sees_everything()) return false;
  event_clock.trusted.store(kernel_trusts_counter(), std::memory_order_relaxed);
  CoreCall inside;
  static constinit ShimServices kept{};
  kept = shim;
  const WeftCoreStart start = find_start();
  return start != nullptr && start(&kept, &services);
}

}  // namespace

const CoreServices* core() noexcept {
  return started_core.load(std::memory_order_acquire);
}

bool start_core() noexcept {
  if (core() != nullptr) return level() == Level::observe;
  if (level() != Level::routed) return false;
  if (!load()) {
    set_level(Level::pass);
    return false;
  }
  started_core.store(&services, std::memory_order_release);
  set_level(Level::observe);
  return true;
}

}  // namespace weft
