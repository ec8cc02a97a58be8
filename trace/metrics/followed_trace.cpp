// Piece by piece; see the header.
#include "trace/metrics/followed_trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>

#include "trace/read/printable.h"

namespace weft {
namespace {

constexpr std::size_t most_first_bytes = 1024;
constexpr std::uint64_t iterations_to_learn_from = 32;
constexpr std::uint64_t groups_to_learn_from = 262'144;  // where there are no iterations

// -1: errno has the reason.
ssize_t read_at(int file, std::span<char> buffer, std::uint64_t offset) {
  ssize_t got = 0;
  do got = ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(offset));
  while (got < 0 && errno == EINTR);
  return got;
}

// A day is left for clocks that differ.
Duration tomorrow() {
  return std::chrono::system_clock::now().time_since_epoch() + std::chrono::hours(24);
}

}  // namespace

FollowedTrace::Look FollowedTrace::look(std::span<char> buffer) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) {
    error_ = errno;
    return error_ == ENOENT || error_ == ENOTDIR ? Look::gone : Look::failed;
  }
  // To open a FIFO would wait for its writer.
  if (!S_ISREG(status.st_mode)) throw std::runtime_error(printable(path_) + " is not a regular file");
  const bool is_first = offset_ == 0;
  if (!is_first && is_replaced(status)) return Look::replaced;
  if (static_cast<std::uint64_t>(status.st_size) == offset_) return Look::nothing_new;
  const int file = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) {
    error_ = errno;
    return error_ == ENOENT ? Look::gone : Look::failed;
  }
  if (is_first) {
    inode_ = status.st_ino;
    disk_ = status.st_dev;
  }
  Look found = Look::failed;
  try {
    found = read_piece(file, buffer);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
  return found;
}

FollowedTrace::Look FollowedTrace::read_piece(int file, std::span<char> buffer) {
  struct stat status {};
  if (::fstat(file, &status) != 0) {
    error_ = errno;
    return Look::failed;
  }
  // The name may have got another meaning since it was looked at.
  if (is_replaced(status) || static_cast<std::uint64_t>(status.st_size) < offset_) return Look::replaced;
  std::array<char, most_first_bytes> begin;
  const std::span<char> first(begin.data(), first_bytes_.size());
  const ssize_t again = first.empty() ? 0 : read_at(file, first, 0);
  if (again >= 0 && std::string_view(first.data(), static_cast<std::size_t>(again)) != first_bytes_)
    return Look::replaced;
  const ssize_t got = again < 0 ? again : read_at(file, buffer, offset_);
  if (got < 0) {
    error_ = errno;
    return Look::failed;
  }
  const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
  first_bytes_ += piece.substr(0, most_first_bytes - first_bytes_.size());
  offset_ += piece.size();
  splitter_.give(piece);
  while (const std::optional<FileLine> line = splitter_.next()) lines_.take(*line);
  return piece.size() == buffer.size() ? Look::more : Look::nothing_new;
}

void FollowedTrace::header(const TraceHeader& header, const TraceLine& line) {
  const TraceProcess process = process_of(header);
  const Duration began = header.wall_clock > tomorrow() ? Duration{} : header.wall_clock;
  if (!totals_.has_header || process != totals_.process) {
    totals_ = {};
    metrics_ = {};
    impossible_ = learned_ = 0;
    iterations_.forget();
    learns_ = true;
    totals_.begin = totals_.end = began;
    totals_.process = process;
    totals_.has_header = true;
  } else if (learns_) {
    iterations_.finish();  // another segment
  }
  if (!line.sound()) ++impossible_;
  TraceHeader taken = header;
  taken.wall_clock = began;  // else its run would be the newest one, and all others would be left out
  metrics_.header(taken);
}

void FollowedTrace::record(const Record& record, const TraceLine& line) {
  if (!line.sound()) {
    ++impossible_;
    return;
  }
  metrics_.take(record);
  if (learns_) learn(record);
}

void FollowedTrace::learn(const Record& record) {
  iterations_.take(record);
  if (record.kind == RecordKind::iteration) ++learned_;
  if (learned_ == iterations_to_learn_from || iterations_.groups() >= groups_to_learn_from) end_learning();
}

void FollowedTrace::end_learning() {
  iterations_.finish();
  learns_ = false;
}

void FollowedTrace::summary(const TraceSummary& summary, const TraceLine& line) {
  if (line.sound() && summary.window_end >= summary.window_begin)
    metrics_.summary(summary);
  else
    ++impossible_;
  if (learns_ && learned_ > 0) end_learning();
}

SkippedLines FollowedTrace::skipped() const {
  const TraceDamage& damage = lines_.damage();
  return {damage.unreadable.lines, damage.too_long.lines, impossible_};
}

FileTotals FollowedTrace::totals() const {
  FileTotals totals = totals_;
  totals.path = path_;
  totals.rank.header = metrics_.header();
  totals.rank.complete = metrics_.has_summary();
  totals.rank.unsure = impossible_ > 0;
  if (const auto last = metrics_.last_record()) totals.end = std::clamp(*last, totals.begin, tomorrow());
  return totals;
}

}  // namespace weft
