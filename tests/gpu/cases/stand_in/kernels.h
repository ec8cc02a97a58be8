// The one kernel of the stand-in NCCL and its launch. kernels.cu is the GPU's version, ../sim_kernels.cpp what the
// simulated GPU does. Called by nccl.cpp on the thread that issues the group; nothing here allocates after prepare().
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "stand_in.h"

namespace stand_in {

constexpr int most_messages = 8;  // receives in one group
constexpr int blocks = 4;         // one cluster, where the GPU has clusters
constexpr int threads_per_block = 640;
constexpr int shared_bytes = 82 * 1024;
constexpr int held_words = 84;  // words of `state`: about 96 registers per thread with them

struct Message {
  std::uint32_t* to;
  std::int32_t words;
};

// Everything the kernel gets, by value.
struct Receive {
  std::int64_t length;                  // it spins so many nanoseconds
  const volatile std::uint32_t* abort;  // host memory; not 0: stop now
  stand_in_record* record;              // host memory; null: nobody wants to know
  std::uint32_t* state;                 // held_words of device memory, all 0
  std::uint32_t number;                 // of the receive; decides what arrives
  std::int32_t messages;
  Message message[most_messages];
};

#if defined(__CUDACC__)
#define STAND_IN_BOTH __host__ __device__
#else
#define STAND_IN_BOTH
#endif
// The value that arrives in word `index` of a message.
STAND_IN_BOTH inline std::uint32_t arriving(std::uint32_t number, std::int32_t message, std::uint32_t index) {
  std::uint32_t x = number * 2654435761U + static_cast<std::uint32_t>(message) * 40503U + index;
  x = (x ^ (x >> 16)) * 73244475U;
  return x ^ (x >> 16);
}

cudaError_t prepare();  // once, on the device that will be used: loads the kernel
cudaError_t launch(const Receive& receive, cudaStream_t stream);

}  // namespace stand_in
