// The first GPU: its context, its kernels (kernels.cu), streams, events and pinned memory.
//
// Called by the probes on any thread, after use_gpu() there. Nothing made here is ever given back: a probe is one
// question, and its process ends with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <string>

#include "driver.h"
#include "kernels.h"

namespace probe {

enum class Kernel { spin, busy, resident, compute, stream, where, count };

struct Gpu {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  std::array<CUfunction, static_cast<std::size_t>(Kernel::count)> functions{};
  int multiprocessors = 0;
  int major = 0;            // of the compute capability
  int lowest_priority = 0;  // the number is the greatest
  int highest_priority = 0;
  unsigned shared_of_spin = 0;  // dynamic shared memory of a NCCL-like block, as far as the device has it
};

// Made on first use, with the kernels loaded. Throws Skipped when there is no GPU.
const Gpu& gpu();
// Makes the context the calling thread's; the first call also launches each kernel once, since first launches stall.
void use_gpu();

struct DeviceName {
  std::string text;
  bool simulated;
};
// The name of the device that gpu() found; empty before that. No call of CUDA.
DeviceName device_name();
// The image of kernels.cu, for probes that load it again.
const void* kernel_image();

int attribute(CUdevice_attribute attribute);
CUstream make_stream(std::optional<int> priority = {}, unsigned flags = CU_STREAM_NON_BLOCKING);
CUevent make_event(unsigned flags = CU_EVENT_DISABLE_TIMING);
void* make_pinned(std::size_t bytes);
CUdeviceptr make_device_memory(std::size_t bytes);  // zeroed
template <class Type>
Type* make_pinned() {
  return new (make_pinned(sizeof(Type))) Type{};
}

struct Shape {
  unsigned blocks = 1;
  unsigned threads = 1;
  unsigned cluster = 1;
  unsigned shared = 0;
  std::optional<int> priority{};  // of the launch
};
// The arguments must be of exactly the types of the kernel's parameters.
void launch_with(CUfunction function, const Shape& shape, CUstream stream, void** arguments);
template <class... Arguments>
void launch(Kernel kernel, const Shape& shape, CUstream stream, Arguments... arguments) {
  void* pointers[] = {&arguments...};
  launch_with(gpu().functions[static_cast<std::size_t>(kernel)], shape, stream, pointers);
}

// Blocks of this shape that run at once on the idle device.
inline constexpr unsigned compute_threads = 256;

// Waits, without stalling in CUDA, until the condition holds; false: not within the time.
bool wait_for(const std::function<bool()>& condition, double milliseconds);
void sleep_milliseconds(double milliseconds);
// Factor of times in which something must happen that can: the simulated GPU shares its processors with other programs.
double slack();
int64_t now();  // nanoseconds of the host
bool is_done(CUevent event);
double elapsed_microseconds(CUevent from, CUevent to);

}  // namespace probe
