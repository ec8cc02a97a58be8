// A fill job with variants on a simulated device, and the lines that the trace has of it: for the tests of variants and
// of their changes. One thread; each test is a process of its own.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/runner/core/simulated_job.h"

namespace weft::testing {

using Lines = std::vector<nlohmann::json>;

// The value of WEFT_FILL for a file of these jobs; each test has a process, and a file, of its own.
inline std::string jobs(const std::string& text) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) /
                            (::testing::UnitTest::GetInstance()->current_test_info()->name() + std::string(".toml")))
                               .string();
  std::ofstream(path) << text;
  return "@" + path;
}

inline std::string job_with(const std::string& variants, const std::string& more = "",
                            const std::string& steps = "12") {
  return "[[job]]\nname = \"tune\"\nfill = \"" + copy_job(steps) + "\"\nvariants = " + variants + "\n" + more;
}

inline Lines job_lines(const SimulatedJob& job, int number) {
  Lines all;
  for (const auto& line : job.trace())
    if (line.value("type", "") == "job" && line.value("job", -1) == number) all.push_back(line);
  return all;
}

inline void four_iterations(SimulatedJob& job, std::chrono::microseconds wait) {
  for (int microbatch = 0; microbatch < 12; ++microbatch) job.microbatch(wait);
  job.wait_for_gpu();
}

// Bubbles last for this and a millisecond; between some of them is a quiet moment.
inline void trains_until(SimulatedJob& job, std::chrono::microseconds wait, std::chrono::seconds limit,
                         const std::function<bool()>& is_over) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!is_over()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    ASSERT_TRUE(job.quiet_moments_wanted) << "another variant may be made ready";
    four_iterations(job, wait);
    job.core.quiet_moment(0);
  }
}

inline std::vector<std::string> events(const Lines& lines) {
  std::vector<std::string> all;
  for (const auto& line : lines) all.push_back(line.value("event", "") + " " + line.value("variant", ""));
  return all;
}
using Events = std::vector<std::string>;

// The job is being asked for its progress, by a thread of Weft's.
inline bool copy_job_saves() {
  void* const library = dlopen(copy_job("").substr(0, copy_job("").find(':')).c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto* const saves = static_cast<const int*>(library == nullptr ? nullptr : dlsym(library, "copy_job_saves"));
  const bool now = saves != nullptr && __atomic_load_n(saves, __ATOMIC_ACQUIRE) != 0;
  if (library != nullptr) dlclose(library);
  return now;
}

}  // namespace weft::testing
