// Owners of device memory, streams and events for the tests.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

template <class Value>
class Device {
 public:
  explicit Device(size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), cudaSuccess);
  }
  Device(Device&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  ~Device() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  Value* get() const { return data_; }
  // A fill does not wait for the device, and a non-blocking stream does not wait for the fill.
  void fill(int byte) {
    EXPECT_EQ(cudaMemset(data_, byte, bytes()), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  void write(const std::vector<Value>& values) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  std::vector<Value> read() const {
    std::vector<Value> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  size_t bytes() const { return count_ * sizeof(Value); }
  Value* data_ = nullptr;
  size_t count_;
};

class Stream {
 public:
  explicit Stream(unsigned flags) { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, flags), cudaSuccess); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { EXPECT_EQ(cudaEventCreate(&event_), cudaSuccess); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};
