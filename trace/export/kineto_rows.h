// The rows of one file in PyTorch's trace format (Kineto's JSON), one after the other. Knows the format and nothing of
// Weft's records.
//
// Used by kineto.cpp and by tests, in the weft command only, on one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "detector/time.h"
#include "trace/export/output.h"

namespace weft {

struct KinetoHead {
  std::int64_t rank = 0, ranks = 0, process = 0;
  int device = 0;
  std::uint32_t multiprocessors = 0;
  std::string name, host;
  std::int64_t base = 0;  // nanoseconds since 1970: times of the rows are counted from here
};

// Values are JSON already.
using KinetoArguments = std::vector<std::pair<const char*, std::string>>;

struct KinetoRow {
  std::string_view category, name;
  Duration begin{}, length{};  // from the base on
  std::int64_t process = 0, thread = 0;
};

// A text as JSON, with its quotes.
std::string json_text(std::string_view text);

class KinetoRows {
 public:
  // The rank stands before all rows: readers take the first key of that name that they find.
  KinetoRows(OutputFile& file, const KinetoHead& head);
  void row(const KinetoRow& row, const KinetoArguments& arguments);
  // Names under which viewers show a process or a thread.
  void process_name(std::int64_t process, std::string_view name, int place);
  void thread_name(std::int64_t process, std::int64_t thread, std::string_view name);
  void finish();  // once, after the last row; the file is finished by whoever opened it

 private:
  void begin_row();
  void name_row(const char* what, std::int64_t process, std::int64_t thread, std::string_view name);

  OutputFile& file_;
  bool first_ = true;
  std::string line_;
};

}  // namespace weft
