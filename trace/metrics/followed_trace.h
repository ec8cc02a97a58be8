// One trace that is still being written, up to where it has been read, and the numbers of its rank so far.
//
// Used by FollowedRun and tests, in the weft command only, on one thread. Each look goes on where the one before ended,
// and between two looks the file is not open, as a run may have more ranks than a process may have files. Memory does
// not grow with the trace. Of a file with segments of several processes only those of the last one count.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trace/metrics/rank_metrics.h"
#include "trace/names/rank_iterations.h"
#include "trace/read/file_totals.h"
#include "trace/read/line_reader.h"
#include "trace/read/reader.h"

namespace weft {

class FollowedTrace : private TraceSink {
 public:
  explicit FollowedTrace(std::string path) : path_(std::move(path)), lines_(path_, *this) {}
  FollowedTrace(const FollowedTrace&) = delete;
  FollowedTrace& operator=(const FollowedTrace&) = delete;

  // `replaced`: another file has its name now, or it was cut. `gone`: none has. In both cases this object has had its
  // time. `failed`: it cannot be read now, error() says why.
  enum class Look : std::uint8_t { more, nothing_new, replaced, gone, failed };
  // Reads one piece into `buffer` and takes its lines. Throws std::runtime_error, one line, where it is no trace that
  // can be followed: of another format or a newer version, no regular file.
  Look look(std::span<char> buffer);

  const std::string& path() const { return path_; }
  int error() const { return error_; }  // errno
  bool has_header() const { return totals_.has_header; }
  const RankMetrics& metrics() const { return metrics_; }
  SkippedLines skipped() const;
  // Of its first iterations, from which stages are found; nullptr: there are not enough yet.
  const names::RankIterations* learned() const { return learns_ ? nullptr : &iterations_; }
  // As far as it is needed to choose the newest run.
  FileTotals totals() const;

 private:
  bool wants(std::string_view line) const override { return learns_ || !is_line_of(line, "group"); }
  void header(const TraceHeader& header, const TraceLine& line) override;
  void record(const Record& record, const TraceLine& line) override;
  void summary(const TraceSummary& summary, const TraceLine& line) override;

  bool is_replaced(const struct stat& status) const { return status.st_ino != inode_ || status.st_dev != disk_; }
  Look read_piece(int file, std::span<char> buffer);
  void learn(const Record& record);
  void end_learning();

  std::string path_;
  LineSplitter splitter_;
  TraceLines lines_;
  std::uint64_t offset_ = 0;
  std::string first_bytes_;  // an inode's number is given again, but a header tells the process and its start
  ino_t inode_ = 0;
  dev_t disk_ = 0;
  int error_ = 0;
  RankMetrics metrics_;
  FileTotals totals_;             // process, header, begin
  std::uint64_t impossible_ = 0;  // lines
  // Groups are most of the lines, so only those of the first iterations are looked at.
  names::RankIterations iterations_;
  std::uint64_t learned_ = 0;  // iterations
  bool learns_ = true;
};

}  // namespace weft
