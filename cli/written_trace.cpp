// See written_trace.h.
#include "cli/written_trace.h"

#include <filesystem>
#include <stdexcept>

#include "trace/write/lines.h"

namespace weft::cli {
namespace {

constexpr std::size_t enough = 1 << 16;  // bytes, to write them

}  // namespace

void make_trace_folder(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw std::runtime_error(directory + " cannot be made: " + error.message());
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().extension() == ".jsonl")
      throw std::runtime_error(directory + " has traces already; each run has a folder of its own");
}

WrittenTrace::WrittenTrace(const std::string& path) : path_(path), file_(path, std::ios::trunc) {}

void WrittenTrace::begin(const TraceHeader& header) {
  append_header(text_, header);
  write();
}

void WrittenTrace::push(const Record& record) noexcept {
  append_record(text_, record);
  if (text_.size() < enough) return;
  file_ << text_;
  text_.clear();
}

void WrittenTrace::end(const TraceSummary& summary) {
  append_summary(text_, summary);
  write();
}

void WrittenTrace::write() {
  file_ << text_ << std::flush;
  text_.clear();
  if (!file_) throw std::runtime_error(path_ + " cannot be written");
}

}  // namespace weft::cli
