// Kernels of an NCCL that is not hooked; see unseen_nccl.h.
#include "shim/main_job/unseen_nccl.h"

#include "shim/main_job/capture.h"
#include "shim/main_job/captured_steps.h"
#include "shim/main_job/launches.h"
#include "shim/notes.h"
#include "shim/process.h"
#include "shim/routing/interposers.h"
#include "shim/tables/address_table.h"

namespace weft {
namespace {

constinit AddressTable kernels{};
constexpr std::uint16_t is_there = 0;
constinit std::atomic<const char*> found_in{nullptr};

bool begins_with(const char* text, const char* beginning) noexcept {
  while (*beginning != '\0' && *text == *beginning) ++text, ++beginning;
  return *beginning == '\0';
}

// Also mangled, as _Z20ncclDevKernel_Generic... is: behind _Z and the length, and behind those of namespaces.
bool is_nccls(const char* name) noexcept {
  if (begins_with(name, "_Z")) {
    while (*name != '\0' && !begins_with(name, "nccl")) ++name;
  }
  constexpr const char* beginnings[] = {"ncclDevKernel", "ncclKernel", "ncclSymkDevKernel", "ncclSymDevKernel"};
  for (const char* beginning : beginnings) {
    if (begins_with(name, beginning)) return true;
  }
  return false;
}

void enter(const void* handle) noexcept {
  kernels.enter_export(const_cast<void*>(handle), is_there);
  if (kernels.find(handle) != is_there) note_full("kernels of an NCCL that is not seen");
}

}  // namespace

constinit std::atomic<bool> nccl_is_unseen{false};

const char* unseen_nccl() noexcept {
  return found_in.load(std::memory_order_acquire);
}

// Where there is a core it says so, and it may come yet. Where the process has no communicator that is seen there is
// none, and nobody else to say it.
void note_kernel(const void* kernel, const char* name, const void* caller) noexcept {
  if (name == nullptr || !is_nccls(name)) return;
  enter(kernel);
  nccl_is_unseen.store(true, std::memory_order_release);
  const char* const file = library_name(caller);
  const char* none = nullptr;
  if (!found_in.compare_exchange_strong(none, file, std::memory_order_acq_rel) || level() == Level::observe) return;
  say({"NCCL's kernels are loaded by ", file,
       ", and its functions do not come to Weft (linked statically, or renamed): its communication is not seen"});
}

void note_function(const void* kernel, const void* function) noexcept {
  if (is_kernel_of_unseen_nccl(kernel)) enter(function);
}

bool is_kernel_of_unseen_nccl(const void* function) noexcept {
  return kernels.find(function) == is_there;
}

GraphLaunch unseen_launch_begins(CUstream stream, bool per_thread) noexcept {
  Stream* known = level() == Level::observe ? learn_stream(name_of(stream, per_thread)) : nullptr;
  GraphLaunch launch{};
  if (known != nullptr && is_capturing(*known)) {
    GroupSummary unknown{};
    unknown.signature = 1;
    operations_captured(*known, 0, unknown);
  } else if (known != nullptr) {
    launch = announce_step(*known, nullptr, Captured::unseen_kernel);
  }
  if (launch.stream == nullptr) count_launch(stream, per_thread);
  return launch;
}

}  // namespace weft
