// Shared by the tests of the simulated driver: a process per test with its own environment, a context, kernels, and
// the ground-truth log, in which all times are exact.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace simtest {

using Environment = std::vector<std::pair<std::string, std::string>>;
using Json = nlohmann::json;

// Runs the body in a child, with a log folder, the test kernels and 4 multiprocessors of 1 GFLOP/s each unless the
// environment says otherwise. Failures in the child fail the test. Returns the child's wait status.
int isolated(const Environment& environment, const std::function<void()>& body, bool expect_clean = true);

// The folder of the logs of the last isolated() (in the parent), of this one (in the child); and its records.
std::vector<Json> log_records();
std::vector<Json> records_of(const std::string& type);
// The record of the n-th kernel of that name, in the order of completion; waits for it to be written.
Json kernel(const std::string& name, std::size_t index = 0);
Json await_record(const std::function<bool(const Json&)>& wanted);

#define CHECK_CUDA(call) ASSERT_EQ(call, CUDA_SUCCESS)

// cuInit, the primary context, made current.
CUcontext make_context();
CUfunction function(const char* name);
CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING, int priority = 0);
// `work` kernels: blocks of so many microseconds when alone on their multiprocessor, at 1 GFLOP/s each.
void work(CUstream stream, unsigned blocks, double microseconds, unsigned threads = 256, const char* name = "work");

// A pinned word pair for the spinning kernel, and its launch.
struct Spin {
  std::atomic<int> go;
  std::atomic<int64_t> finish;
};
Spin* make_spin();
void spin(CUstream stream, Spin* words, unsigned blocks = 1, unsigned cluster = 1);
void release(Spin* words);
// Until the spinning kernel is resident, seen from the host.
void wait_until(const std::function<bool()>& condition);
int64_t now();

}  // namespace simtest
