/* How a program gives the simulated GPU the effect and the cost of its kernels.
 *
 * A kernel that nvcc compiled cannot run without a GPU. A *host-kernel library* is a shared object, named in
 * SIMGPU_KERNELS (separated by ':'), that exports simgpu_kernel_table(). For a kernel of that name the simulated GPU calls
 * `run` once per launch, on a thread of its own, when the first thread block starts; the kernel ends when its modelled
 * time is over and `run` has returned. A kernel that no library knows takes its modelled time and writes nothing; the log
 * says which of the two happened ("effect": "host" or "none").
 *
 * Names are those in the fat binary: mangled, or plain for extern "C" kernels. Device pointers are host addresses. */
#ifndef SIMGPU_KERNELS_H
#define SIMGPU_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct simgpu_launch {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  uint32_t parameter_count;
  const void* const* parameters; /* parameters[i] points at the value of parameter i, as for cuLaunchKernel */
} simgpu_launch;

/* Work of the whole launch; the device model turns it into a time per thread block. */
typedef struct simgpu_cost {
  double flops;
  double bytes; /* moved to and from device memory */
} simgpu_cost;

/* A kernel that waits for something outside the GPU (NCCL's): instead of `run`, the engine calls `step` when the kernel
 * has started, whenever the doorbell rings, and from time to time. Times are nanoseconds of CLOCK_MONOTONIC.
 * Returns 0 while it goes on spinning, 1 when it is over at *finish (>= started; a time in the future is waited for). */
typedef int (*simgpu_step_function)(const simgpu_launch* launch, int64_t started, int64_t now, int64_t* finish);

typedef struct simgpu_kernel {
  size_t struct_size;
  const char* name;
  uint32_t parameter_count;
  const uint32_t* parameter_sizes; /* bytes of each parameter */
  void (*run)(const simgpu_launch* launch);            /* NULL with `step` */
  simgpu_cost (*cost)(const simgpu_launch* launch);    /* NULL: the device's default time per block */
  simgpu_step_function step;                           /* NULL for ordinary kernels */
  uint32_t registers_per_thread;                       /* 0: 32 */
  uint32_t static_shared_bytes;
} simgpu_kernel;

typedef struct simgpu_kernel_list {
  size_t struct_size;
  uint32_t count;
  const simgpu_kernel* kernels;
} simgpu_kernel_list;

/* Exported by a host-kernel library. Returns a static table. */
const simgpu_kernel_list* simgpu_kernel_table(void);

/* Services of the simulated driver for the simulated NCCL and CUPTI, besides the CUDA API:
 * cuGetExportTable(&table, SIMGPU_SERVICES_UUID) gives a const simgpu_services*. */
#define SIMGPU_SERVICES_UUID_BYTES {0x73, 0x69, 0x6d, 0x67, 0x70, 0x75, 0x2d, 0x77, 0x65, 0x66, 0x74, 0x2d, 0x73, 0x76, 0x63, 0x31}

/* A kernel, copy or set that has ended. Times are those of the log. */
typedef struct simgpu_activity {
  const char* kind; /* kernel, h2d, d2h, d2d, h2h, set: literals */
  const char* name; /* of a kernel, else NULL; not ended by a zero, and to be copied during the call */
  size_t name_length;
  int32_t device;
  uint64_t context, stream; /* as cuCtxGetId and cuStreamGetId say */
  uint64_t correlation;
  int64_t start, end;
  uint64_t bytes; /* of a copy or set */
} simgpu_activity;
typedef void (*simgpu_activity_sink)(const simgpu_activity* activity);

typedef struct simgpu_services {
  size_t struct_size;
  /* Makes kernels known, as a host-kernel library does. The table must stay alive. 0 on success. */
  int (*register_kernels)(const simgpu_kernel_list* list);
  /* The doorbell of this process: a futex word in a memfd, so that another process can wake this GPU's engine. A peer
   * opens /proc/<pid>/fd/<doorbell_fd>, maps one page, adds 1 to the first uint32_t and calls FUTEX_WAKE (not private). */
  int (*doorbell_fd)(void);
  /* Wakes the engine of this process. Any thread. */
  void (*ring)(void);
  /* Adds one JSON object (without newline) to the log of this process; nothing happens when there is no log. */
  void (*log)(const char* json_object);
  /* The engine's time of the last event it has handled, and the wall clock, both CLOCK_MONOTONIC in nanoseconds. */
  int64_t (*now)(void);
  /* From now on each activity goes to `sink` when it ends, under the engine's lock: it may take a note, and call nothing of
   * CUDA. NULL: to nobody. */
  void (*set_activity_sink)(simgpu_activity_sink sink);
} simgpu_services;

#ifdef __cplusplus
}

#include <type_traits>
#include <utility>

namespace simgpu {

/* C++ sugar: builds the table entry from typed functions, so that parameter counts and sizes cannot be wrong.
 *   void saxpy(const simgpu_launch&, float a, const float* x, float* y, int n);
 *   simgpu_cost saxpy_cost(const simgpu_launch&, float a, const float* x, float* y, int n);
 *   static const simgpu_kernel kernels[] = {simgpu::kernel<saxpy, saxpy_cost>("saxpy")}; */
template <class Signature>
struct Typed;

template <class Result, class... Parameters>
struct Typed<Result (*)(const simgpu_launch&, Parameters...)> {
  static constexpr uint32_t count = sizeof...(Parameters);
  static constexpr uint32_t sizes[sizeof...(Parameters) + 1] = {static_cast<uint32_t>(sizeof(Parameters))..., 0};

  template <Result (*function)(const simgpu_launch&, Parameters...)>
  static Result call(const simgpu_launch* launch) {
    return call_each<function>(launch, std::make_index_sequence<sizeof...(Parameters)>{});
  }
  template <Result (*function)(const simgpu_launch&, Parameters...), std::size_t... index>
  static Result call_each(const simgpu_launch* launch, std::index_sequence<index...>) {
    return function(*launch, *static_cast<const std::remove_cv_t<Parameters>*>(launch->parameters[index])...);
  }
};

template <auto run, auto cost>
constexpr simgpu_kernel kernel(const char* name, uint32_t registers_per_thread = 32, uint32_t static_shared_bytes = 0) {
  using Run = Typed<decltype(run)>;
  using Cost = Typed<decltype(cost)>;
  return simgpu_kernel{sizeof(simgpu_kernel), name, Run::count, Run::sizes, &Run::template call<run>,
                       &Cost::template call<cost>, nullptr, registers_per_thread, static_shared_bytes};
}

}  // namespace simgpu
#endif
#endif
