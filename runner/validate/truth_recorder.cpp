// See the header.
#include "runner/validate/truth_recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runner/clock.h"
#include "runner/own_thread.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration between_looks = milliseconds(50);
// Soon at first, so that a short run that is interrupted has records, too; each time is twice the one before.
constexpr Duration first_flush = milliseconds(100), between_flushes = seconds(1);
constexpr int clock_readings = 5;  // of which the one with the closest bounds is taken

}  // namespace

TruthRecorder::TruthRecorder(RecorderSettings settings, CuptiSession& session)
    : settings_(std::move(settings)), session_(session) {}

bool TruthRecorder::start() {
  return start_own_thread([self = shared_from_this()] { self->live(); });
}

void TruthRecorder::add(const std::string& line) {
  const std::lock_guard lock(mutex_);
  pending_ += line;
}

void TruthRecorder::live() noexcept {
  try {
    ::pthread_setname_np(::pthread_self(), "weft-validate");
    if (settings_.mark_own_thread != nullptr) settings_.mark_own_thread();
    run();
  } catch (...) {
    // Only memory can run out here: the file ends without its last line, and says by that that it is partial.
    session_.buffers.lend(false);
  }
  session_.in_use.store(false);
  decided_.store(true, std::memory_order_release);
  ended_.store(true, std::memory_order_release);
}

void TruthRecorder::run() {
  session_.in_use.store(true);
  off_ = session_.exiting.load() ? "the process ends" : begin();
  // Validation waits for the decision before it can end anything, unless it has given up.
  if (off_.empty() && end_wanted_.load(std::memory_order_acquire)) off_ = "CUPTI did not answer in time";
  decided_.store(true, std::memory_order_release);
  if (!off_.empty()) {
    session_.buffers.lend(false);
    write(TruthLines::off(off_));
    close_trace_file(file_);
    return;
  }
  Duration until_flush = first_flush;
  TimePoint next_flush = now() + until_flush;
  while (!end_wanted_.load(std::memory_order_acquire) && !session_.exiting.load()) {
    sleep_until(now() + between_looks);
    if (now() >= next_flush) {
      session_.library.flush_all(0);
      read_clocks();
      until_flush = std::min(2 * until_flush, between_flushes);
      next_flush = now() + until_flush;
    }
    take_records();
  }
  finish();
}

// The file exists in any case: it says why there are no records.
std::string TruthRecorder::begin() {
  std::string why = cupti::other_profiler(settings_.environment);
  if (why.empty()) why = subscribe(session_, settings_.library, settings_.environment);
  TruthHeader header = settings_.header;
  header.cupti = session_.library.version;
  header.library = session_.library.path;
  header.started = now();
  std::string error;
  file_ = open_trace_file(settings_.directory, settings_.name, error);
  if (file_.descriptor < 0) return why.empty() ? error : why;
  write(std::string(file_.torn ? "\n" : "") + TruthLines::header(header));
  if (!why.empty()) return why;
  // Dropped since an earlier recorder has ended: of no window, as no communicator was open.
  std::size_t between = 0;
  session_.library.flush_all(0);
  session_.library.dropped_records(nullptr, 0, &between);
  session_.buffers.lend(true);
  read_clocks();
  return "";
}

void TruthRecorder::take_records() {
  if (session_.gone.load()) return;
  session_.buffers.empty([this](std::uint8_t* buffer, std::size_t valid) { take_buffer(buffer, valid); });
  std::size_t dropped = 0;
  if (session_.library.dropped_records(nullptr, 0, &dropped) == cupti::success && dropped != 0) {
    counts_.dropped += dropped;
    write(TruthLines::counts("counts", counts_));
  }
  write_pending();
  const std::uint64_t taken = lines_.taken();
  write(lines_.take(), taken);
}

void TruthRecorder::take_buffer(std::uint8_t* buffer, std::size_t valid) {
  cupti::Activity* record = nullptr;
  while (!session_.gone.load()) {
    const cupti::Result result = session_.library.next_record(buffer, valid, &record);
    if (result == cupti::max_limit_reached) return;
    if (result != cupti::success) {
      const auto read =
          record == nullptr ? 0 : static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(record) - buffer);
      counts_.unreadable += 1 + (valid - std::min(read, valid)) / cupti::bytes_of_a_record;
      return;
    }
    ++counts_.records;
    if (!lines_.add(*record)) ++counts_.untimed;
  }
}

// The closest of a few readings: a thread may be held up between two of them.
void TruthRecorder::read_clocks() {
  TimePoint best_before{}, best_after{};
  std::uint64_t best = 0;
  for (int i = 0; i < clock_readings; ++i) {
    if (session_.gone.load()) return;
    std::uint64_t time = 0;
    const TimePoint before = now();
    if (session_.library.get_timestamp(&time) != cupti::success) return;
    const TimePoint after = now();
    if (best != 0 && after - before >= best_after - best_before) continue;
    best_before = before, best_after = after, best = time;
  }
  write(TruthLines::clock(best_before, best, best_after));
}

void TruthRecorder::write(const std::string& text, std::uint64_t records) {
  if (text.empty() || file_.descriptor < 0) return;
  full_ = full_ || file_.bytes + text.size() > settings_.limit;
  // The last line tells how many records are missing: it is short and is written in any case.
  if (full_ && !text.starts_with("{\"type\": \"end\"")) {
    counts_.unwritten += records;
    return;
  }
  if (append(file_, text) != 0) {
    full_ = true;
    counts_.unwritten += records;
  }
  file_.bytes += text.size();
}

void TruthRecorder::write_pending() {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    text.swap(pending_);
  }
  write(text);
}

void TruthRecorder::finish() {
  if (!session_.gone.load()) session_.library.flush_all(cupti::flush_forced);
  read_clocks();
  take_records();
  session_.buffers.lend(false);
  // Without its last line the file says that records are missing.
  if (!session_.gone.load()) write(TruthLines::counts("end", counts_));
  close_trace_file(file_);
}

}  // namespace weft
