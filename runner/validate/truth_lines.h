// The lines of a truth file (docs/validate.md), one JSON object each: activity records of CUPTI made compact, and what
// is needed to read them later.
//
// The validation's thread only. Pure: no file, no clock, no CUPTI.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "detector/time.h"
#include "runner/validate/cupti_abi.h"

namespace weft {

// The first line: whose records these are.
struct TruthHeader {
  std::int32_t rank = 0;
  std::string host;
  std::int64_t process = 0;
  std::int64_t start_id = 0;  // as in the trace's header: with host and process unlike that of any other process
  std::uint32_t cupti = 0;    // its version, 0 when it could not be opened
  std::string library;
  TimePoint started{};
};

// How many records there were, and how many are missing.
struct TruthCounts {
  std::uint64_t records = 0;
  std::uint64_t dropped = 0;     // by CUPTI, which had no buffer for them
  std::uint64_t untimed = 0;     // without time stamps, or with impossible ones
  std::uint64_t unreadable = 0;  // in the rest of a buffer that could not be read, by its size
  std::uint64_t unwritten = 0;   // behind the limit of the file, or next to a full disk; other lines count as one
};

class TruthLines {
 public:
  // Kernels that follow each other on a stream with less than this between them become one row. Idle time between
  // them is too short to count as such (docs/validate.md), so nothing is lost.
  static constexpr std::uint64_t joined_gap = 10'000;  // ns

  static std::string header(const TruthHeader& header);
  static std::string off(std::string_view reason);
  static std::string device(std::uint32_t cupti_device, int device);
  static std::string fill_stream(std::uint32_t cupti_device, std::uint32_t context, std::uint32_t stream);
  // CUPTI's clock was read between `before` and `after`.
  static std::string clock(TimePoint before, std::uint64_t cupti, TimePoint after);
  static std::string counts(std::string_view type, const TruthCounts& counts);

  // False: it has no usable time stamps. Records of kinds that were not asked for count as taken.
  bool add(const cupti::Activity& activity);
  // The rows since the last call as lines, "" when there are none.
  std::string take();
  std::uint64_t taken() const { return taken_; }  // records since then that are in the rows

 private:
  enum class Work : char { compute = 'k', communication = 'n', copy = 'c' };
  struct Row {
    std::uint64_t begin = 0, end = 0, busy = 0, records = 0;
  };
  // Kind of work, device, context and stream: CUPTI numbers the streams of each context from the start.
  using Place = std::tuple<char, std::uint32_t, std::uint32_t, std::uint32_t>;

  bool add(const Place& place, std::uint64_t begin, std::uint64_t end);
  void write(const Place& place, const Row& row);

  std::map<Place, Row> open_;  // the latest row of each place
  std::string rows_;           // of the line that is being written
  std::size_t row_count_ = 0;
  std::uint64_t taken_ = 0;
  std::string lines_;
};

// Whether a kernel is NCCL's: "ncclDevKernel...", "ncclSymDevKernel...", in NCCL 2.18 "ncclKernel...", mangled or not.
bool is_nccl_kernel(const char* name);

}  // namespace weft
