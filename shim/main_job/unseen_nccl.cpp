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

// A shared CUDA runtime looks the kernels of all libraries up, perhaps all of them at its start: those of an NCCL that
// is hooked, too, on any thread. So what it has looked up is of an unseen one only while none is hooked.
constinit AddressTable kernels{};
constexpr std::uint16_t by_its_own_code = 0, by_shared_runtime = 1;

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

// Never taken out: should the driver give the address of an unloaded kernel to another one, its time is uncertain, too.
void enter(const void* handle, std::uint16_t looked_up) noexcept {
  kernels.enter_export(const_cast<void*>(handle), looked_up);
  if (kernels.find(handle) > by_shared_runtime) note_full("kernels of an NCCL that is not seen");
}

void remember(const char* file) noexcept {
  Found nothing = Found::nothing;
  if (!found.compare_exchange_strong(nothing, Found::now, std::memory_order_acq_rel)) return;
  for (std::size_t i = 0; file[i] != '\0' && i + 1 < sizeof(found_in); ++i) found_in[i] = file[i];
  found.store(Found::file, std::memory_order_release);
}

// Once, where there is no core that says it. Many a library has such kernels and never launches one.
constinit std::atomic<bool> said{false};
void say_that_it_communicates() noexcept {
  if (said.exchange(true, std::memory_order_relaxed)) return;
  const char* const file = unseen_nccl();
  say({"NCCL's kernels are launched by ", file != nullptr ? file : "a shared CUDA runtime",
       ", and its functions do not come to Weft (linked statically, or renamed): its communication is not seen"});
}

}  // namespace

constinit std::atomic<bool> nccl_is_unseen{false};

const char* unseen_nccl() noexcept {
  return found.load(std::memory_order_acquire) == Found::file ? found_in : nullptr;
}

void note_kernel(const void* kernel, const char* name, const void* caller) noexcept {
  if (name == nullptr || !is_nccls(name)) return;
  const char* const file = library_name(caller);
  const bool by_runtime = std::strstr(file, "libcudart") != nullptr;
  if (by_runtime && home_of(Library::nccl) != nullptr) return;
  enter(kernel, by_runtime ? by_shared_runtime : by_its_own_code);
  if (!by_runtime) remember(file);
  nccl_is_unseen.store(true, std::memory_order_release);
}

void note_function(const void* kernel, const void* function) noexcept {
  const std::uint16_t looked_up = kernels.find(kernel);
  if (looked_up == by_its_own_code || looked_up == by_shared_runtime) enter(function, looked_up);
}

bool is_kernel_of_unseen_nccl(const void* function) noexcept {
  const std::uint16_t looked_up = kernels.find(function);
  return looked_up == by_its_own_code || (looked_up == by_shared_runtime && home_of(Library::nccl) == nullptr);
}

GraphLaunch unseen_launch_begins(CUstream stream, bool per_thread) noexcept {
  if (level() != Level::observe) say_that_it_communicates();
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
