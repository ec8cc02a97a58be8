// A fill job: the shared object that a user names in WEFT_FILL, behind the C ABI of include/weft/fill.h.
//
// Loaded and destroyed on a thread of the main job (or in the fill probe); begin_unit() and end_unit() are called by
// the dispatcher thread. Every failure is one line that names the job. The shared object is never unloaded.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runner/core/driver.h"
#include "runner/fill/checkpoint.h"
#include "runner/fill/job_feed.h"
#include "runner/fill/reservation.h"
#include "runner/options/fill_plan.h"
#include "weft/fill.h"

namespace weft {

// Throws SetUpError where the path names no regular file. Opens nothing: to open a FIFO waits for its other end.
void check_fill_file(const FillSpec& spec);
SetUpError no_such_job(const FillSpec& spec);

struct FillLimits {
  int device = 0;
  std::uint32_t max_blocks = 0;
  FeedPlan feed{};
};

class FillJob {
 public:
  // Loads the object and lets it initialise itself in the reservation. Throws SetUpError.
  static std::unique_ptr<FillJob> load(const FillSpec& spec, Reservation& reservation, const FillLimits& limits);
  ~FillJob();  // the job's destroy()
  FillJob(const FillJob&) = delete;
  FillJob& operator=(const FillJob&) = delete;

  const std::string& name() const { return name_; }
  void record_unit(CUstream stream);  // throws SetUpError

  // false: the job failed, failure() says why. No exceptions, no allocation in the good case.
  bool begin_unit(std::uint64_t unit) noexcept;
  bool end_unit(std::uint64_t unit, std::int8_t& correct) noexcept;
  std::string failure() const;

  // Whether the recorded work may be run more than once for a unit; then, after each pass through it and before
  // end_unit(): how the unit goes on.
  enum class Next : std::uint8_t { another_pass, end, failure };
  bool has_passes() const { return again_ != nullptr; }
  Next pass_ended() noexcept;

  // All that it reads and writes. Where that is records, each unit takes the next slot of the feed, and nothing of it
  // is launched before there is one.
  JobFeed& feed() { return feed_; }
  const JobFeed& feed() const { return feed_; }

  bool keeps_progress() const { return functions_.save != nullptr && functions_.restore != nullptr; }
  // Progress as bytes, while nothing of the job is in flight. Nothing: the job keeps none, or has none worth keeping.
  // Throws SetUpError when it fails.
  std::optional<Progress> save();
  void restore(const Progress& progress);  // throws SetUpError

 private:
  FillJob(const FillSpec& spec, Reservation& reservation, const FillLimits& limits);
  void open();
  void check_table() const;
  void initialise();
  bool end_records(std::int8_t& correct) noexcept;

  // Functions of weft_fill_host; `context` is the FillJob.
  static std::uint64_t allocate(void* context, std::uint64_t bytes);
  static std::uint64_t between_bubbles_on_host(void* context, std::uint64_t bytes);
  static void* allocate_host(void* context, std::uint64_t bytes);
  static void show(void* context, const char* message);
  static void fail(void* context, const char* message);
  static int describe_parameter(void* context, const char* name, weft_fill_tensor* found);
  static int describe_input(void* context, const char* name, weft_fill_tensor* found);
  static std::uint64_t parameter(void* context, const weft_fill_tensor* tensor);
  static int records(void* context, std::uint32_t per_unit, std::uint64_t* count);
  static std::uint64_t input(void* context, const weft_fill_tensor* tensor, std::uint64_t* lengths);
  static std::uint64_t output(void* context, const weft_fill_tensor* tensor, std::uint64_t* lengths);
  static std::uint32_t* passes(void* context, std::uint32_t most);
  template <class Call>
  static bool declare(void* context, Call call) noexcept;

  const FillSpec spec_;
  Reservation& reservation_;
  JobFeed feed_;
  weft_fill_host host_{};
  weft_fill_functions functions_{};  // a version 1 job has none of those that came later
  weft_fill_job* job_ = nullptr;
  bool initialising_ = false;
  std::uint32_t* again_ = nullptr;  // pinned; nullptr: a unit has one pass
  std::uint32_t most_passes_ = 0, passes_ = 0;
  std::string label_;  // "fill job <path>"
  std::string name_;
  char failure_[160] = {};
  std::string feed_fault_;  // the first, of init(); "": there was none
};

}  // namespace weft
