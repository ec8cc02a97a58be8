// See progress.h.
#include "trace/read/progress.h"

#include <filesystem>
#include <string_view>
#include <system_error>

namespace weft {
namespace {

class CountedLines : public TraceSink {
 public:
  CountedLines(TraceSink& sink, ReadProgress& progress) : sink_(sink), progress_(progress) {}
  bool wants(std::string_view line) const override {
    progress_.advance(line.size() + 1);
    return sink_.wants(line);
  }
  void unreadable(std::string_view line) override { sink_.unreadable(line); }
  void header(const TraceHeader& header, const TraceLine& line) override { sink_.header(header, line); }
  void record(const Record& record, const TraceLine& line) override { sink_.record(record, line); }
  void summary(const TraceSummary& summary, const TraceLine& line) override { sink_.summary(summary, line); }

 private:
  TraceSink& sink_;
  ReadProgress& progress_;
};

}  // namespace

TraceDamage read_trace(const std::string& path, TraceSink& sink, ReadProgress* progress) {
  if (progress == nullptr) return read_trace(path, sink);
  CountedLines counted(sink, *progress);
  return read_trace(path, counted);
}

std::uint64_t size_of_trace(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace weft
