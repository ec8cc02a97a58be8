// Kernels of an NCCL that is not hooked; see unseen_nccl.h.
#include "shim/main_job/unseen_nccl.h"

#include <cstddef>
#include <cstring>

#include "shim/main_job/capture.h"
#include "shim/main_job/captured_steps.h"
#include "shim/main_job/launches.h"
#include "shim/notes.h"
#include "shim/process.h"
#include "shim/routing/interposers.h"
#include "shim/routing/libraries.h"
#include "shim/tables/address_table.h"

namespace weft {
namespace {

constinit AddressTable kernels{};
constexpr std::uint16_t is_there = 0;

// The name of the file, because the file may be unloaded.
enum class Found : std::uint8_t { nothing, now, file };
constinit std::atomic<Found> found{Found::nothing};
constinit char found_in[512]{};

bool begins_with(const char* text, const char* beginning) noexcept {
  while (*beginning != '\0' && *text == *beginning) ++text, ++beginning;
  return *beginning == '\0';
}

// In a mangled name anywhere, as in _ZN5ncclx21ncclDevKernel_Generic...: only NCCL's own kernels have arguments of such
// types.
bool is_nccls(const char* name) noexcept {
  constexpr const char* beginnings[] = {"ncclDevKernel", "ncclKernel", "ncclSymkDevKernel", "ncclSymDevKernel"};
  const bool is_mangled = begins_with(name, "_Z");
  do {
    for (const char* beginning : beginnings) {
      if (begins_with(name, beginning)) return true;
    }
  } while (is_mangled && *name != '\0' && *++name != '\0');
  return false;
}

// A shared CUDA runtime looks the kernels of all libraries up, those of the hooked NCCL too, on a thread of that.
bool may_be_of_hooked_nccl(const char* file) noexcept {
  return home_of(Library::nccl) != nullptr && std::strstr(file, "libcudart") != nullptr;
}

// Never taken out: should the driver give the address of an unloaded kernel to another one, its time is uncertain, too.
void enter(const void* handle) noexcept {
  kernels.enter_export(const_cast<void*>(handle), is_there);
  if (kernels.find(handle) != is_there) note_full("kernels of an NCCL that is not seen");
}

}  // namespace

constinit std::atomic<bool> nccl_is_unseen{false};

const char* unseen_nccl() noexcept {
  return found.load(std::memory_order_acquire) == Found::file ? found_in : nullptr;
}

// Where there is a core it says so, and it may come yet. Where the process has no communicator that is seen there is
// none, and nobody else to say it.
void note_kernel(const void* kernel, const char* name, const void* caller) noexcept {
  if (name == nullptr || !is_nccls(name)) return;
  const char* const file = library_name(caller);
  if (may_be_of_hooked_nccl(file)) return;
  enter(kernel);
  nccl_is_unseen.store(true, std::memory_order_release);
  Found nothing = Found::nothing;
  if (!found.compare_exchange_strong(nothing, Found::now, std::memory_order_acq_rel)) return;
  for (std::size_t i = 0; file[i] != '\0' && i + 1 < sizeof(found_in); ++i) found_in[i] = file[i];
  found.store(Found::file, std::memory_order_release);
  if (level() == Level::observe) return;
  say({"NCCL's kernels are loaded by ", found_in,
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
