// The kernels of this folder on the simulated GPU: a host-kernel library (sim/include/simgpu/kernels.h).
//
// All are kernels with a `step`, because only those are told the simulated GPU's time: it is what they write down.
// Called on the engine's thread, which must not wait. The simulated GPU therefore takes the case's compute for spinning
// kernels too, and counts it as a hazard when anybody allocates beside it, which is stricter than hardware.
#include <cstddef>
#include <iterator>

#include "bubble_kernels.h"
#include "simgpu/kernels.h"
#include "stand_in/kernels.h"

namespace {

template <class T>
const T& parameter(const simgpu_launch* launch) {
  return *static_cast<const T*>(launch->parameters[0]);
}

void deliver(const stand_in::Receive& r) {
  for (std::int32_t m = 0; m < r.messages; ++m)
    for (std::int32_t i = 0; i < r.message[m].words; ++i)
      r.message[m].to[i] = stand_in::arriving(r.number, m, static_cast<std::uint32_t>(i));
}

// The end is known at the start, unless the communicator is aborted: looked for while there is time.
int receive(const simgpu_launch* launch, int64_t started, int64_t now, int64_t* finish) {
  const auto& r = parameter<stand_in::Receive>(launch);
  constexpr int64_t worth_looking = 1'000'000'000;  // shorter ones are not aborted by any case
  const bool aborted = *r.abort != 0;
  if (!aborted && r.length >= worth_looking && now < started + r.length) return 0;
  *finish = aborted && now < started + r.length ? now : started + r.length;
  deliver(r);
  if (r.record != nullptr) *r.record = {started, *finish};
  return 1;
}

int work(const simgpu_launch* launch, int64_t started, int64_t, int64_t* finish) {
  const auto& w = parameter<bubble_case::Work>(launch);
  for (int i = 0; i < bubble_case::word_count; ++i) w.data[i] = bubble_case::worked(w.data[i], w.received[i]);
  *finish = started + w.length;
  *w.stamp = {~static_cast<unsigned long long>(started), static_cast<unsigned long long>(started),
              static_cast<unsigned long long>(*finish)};
  return 1;
}

int clock(const simgpu_launch* launch, int64_t started, int64_t, int64_t* finish) {
  *parameter<std::int64_t*>(launch) = started;
  *finish = started;
  return 1;
}

template <class T>
constexpr uint32_t table_size[] = {sizeof(T)};

template <class T>
constexpr simgpu_kernel entry(const char* name, simgpu_step_function step, uint32_t registers) {
  return {sizeof(simgpu_kernel), name, 1, table_size<T>, nullptr, nullptr, step, registers, 0};
}

constexpr simgpu_kernel kernel_table[] = {
    entry<stand_in::Receive>("stand_in_receive", receive, 96),
    entry<bubble_case::Work>("bubble_case_work", work, 32),
    entry<std::int64_t*>("bubble_case_clock", clock, 32),
};
constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), static_cast<uint32_t>(std::size(kernel_table)),
                                  kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
