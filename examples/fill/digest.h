// Common to example fill jobs that keep their progress: the data that Weft has read into device memory, brought back to
// the host in parts, and known again by a number when the progress is taken up.
//
// Used in init() only, on the thread that makes a job ready: it waits for copies on a stream of its own, never for the
// device.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "both.h"
#include "taking.h"

namespace fill {

class DeviceReader {
 public:
  static constexpr std::size_t part = std::size_t{1} << 20U;

  explicit DeviceReader(Taking& take) : take_(take), staging_(take.pinned<std::uint8_t>(part)) {
    if (!take.failed() && cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) != cudaSuccess)
      take.fail("there is no stream to look at the data with");
  }
  ~DeviceReader() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  DeviceReader(const DeviceReader&) = delete;
  DeviceReader& operator=(const DeviceReader&) = delete;

  // At most one part. The bytes stand until the next call; nullptr on failure.
  const std::uint8_t* read(const void* from, std::size_t bytes) {
    if (take_.failed()) return nullptr;
    cudaError_t error = cudaMemcpyAsync(staging_, from, bytes, cudaMemcpyDeviceToHost, stream_);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream_);
    if (error != cudaSuccess) take_.fail(std::string("looking at the data: ") + cudaGetErrorString(error));
    return error == cudaSuccess ? staging_ : nullptr;
  }

 private:
  Taking& take_;
  std::uint8_t* const staging_;
  cudaStream_t stream_ = nullptr;
};

inline std::uint64_t digest_of(std::uint64_t before, const std::uint8_t* bytes, std::size_t count) {
  for (std::size_t at = 0; at < count; at += sizeof before) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof word, count - at));
    before = mixed(before ^ word);
  }
  return before;
}

// Of an array in device memory. One of more than 64 MiB is known by 32 to 64 MiB of it, spread evenly.
template <class T>
std::uint64_t digest_of_array(std::uint64_t before, DeviceReader& reader, const T* array, std::uint64_t count) {
  constexpr std::uint64_t most_parts = 64;
  if (count == 0) return before;
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(array);
  const std::uint64_t bytes = count * sizeof(T), parts = (bytes - 1) / DeviceReader::part + 1;
  const std::uint64_t every = (parts - 1) / most_parts + 1;
  for (std::uint64_t number = 0; number < parts; number += every) {
    const std::uint64_t first = number * DeviceReader::part, size = std::min(DeviceReader::part, bytes - first);
    const std::uint8_t* const part = reader.read(begin + first, size);
    if (part == nullptr) return before;
    before = digest_of(before, part, size);
  }
  return before;
}

}  // namespace fill
