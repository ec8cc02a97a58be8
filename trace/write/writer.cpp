// The writer thread and the way to it; see the header.
//
// The thread is detached and shares ownership of everything it touches: whoever waits for it can stop waiting, and a
// process may exit while it runs.
#include "trace/write/writer.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "trace/live/live_board.h"
#include "trace/write/clocks.h"
#include "trace/write/file.h"
#include "trace/write/lines.h"
#include "trace/write/live_file.h"
#include "trace/write/record_ring.h"
#include "weft/version.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds flush_interval{100};
constexpr seconds between_pages{1};
constexpr seconds longest_finish{2};
constexpr std::size_t ring_size = 8192;
constexpr std::size_t a_burst = ring_size / 8;   // records that wait: more do not wait for the next flush
constexpr std::size_t longest_text = 64 * 1024;  // is written out when it has grown to this

Duration clock_time(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return seconds(time.tv_sec) + Duration(time.tv_nsec);
}

// When this process first opened a trace: the same in all that it writes. A forked child has its own.
std::int64_t start_id(std::int64_t process) {
  static std::mutex mutex;
  static std::int64_t known_process = 0, id = 0;
  const std::lock_guard lock(mutex);
  if (known_process != process) id = clock_time(CLOCK_REALTIME).count();
  known_process = process;
  return id;
}

// Groups have half of the file: they are by far the most, and the others are of use without them.
std::uint64_t limit_of(RecordKind kind, std::uint64_t limit) {
  return kind == RecordKind::group ? limit / 2 : limit;
}

// Lines that are few, and of use without the others.
bool is_written_beyond_the_limit(RecordKind kind) {
  return kind == RecordKind::anomaly || kind == RecordKind::memory || kind == RecordKind::slowdown ||
         kind == RecordKind::watching;
}

}  // namespace

TraceHeader completed(TraceHeader header) {
  header.version = WEFT_TRACE_VERSION;
  header.weft = WEFT_VERSION_STRING;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) header.host = host.data();
  header.process = ::getpid();
  header.start_id = start_id(header.process);
  const Duration since_start = clock_time(CLOCK_MONOTONIC) - header.started.time_since_epoch();
  header.wall_clock = clock_time(CLOCK_REALTIME) - since_start;
  header.boot = boot_id();
  if (const std::optional<Duration> offset = clock_offset()) {
    header.clock_offset_known = true;
    header.clock_offset = *offset;
  }
  return header;
}

TraceSummary completed(TraceSummary summary, const TraceHeader& header) {
  summary.rank = header.rank;
  summary.device = header.device;
  summary.idle_known = is_measured(header);
  if (summary.startup) summary.startup->idle_known = summary.idle_known;
  return summary;
}

std::string trace_stem(const TraceHeader& header) {
  const std::string device = header.device_in_name ? ".device" + std::to_string(header.device) : "";
  return "rank" + std::to_string(header.rank) + "." + std::to_string(::getpid()) + device;
}

class TraceWriter::Implementation : public std::enable_shared_from_this<TraceWriter::Implementation> {
 public:
  Implementation(TraceFileHandle file, const TraceHeader& header, std::uint64_t limit, Warn warn)
      : file_(std::move(file)),
        header_(completed(header)),
        limit_(limit),
        warn_(std::move(warn)),
        live_file_(header_, file_.path, file_.bytes > 0),
        ring_(ring_size),
        bytes_written_(file_.bytes) {
    if (file_.torn) text_ = "\n";
    append_header(text_, header_);
  }
  ~Implementation() { close_trace_file(file_); }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  bool start();
  void push(const Record& record) noexcept;
  void show(const LiveNumbers& numbers) noexcept { board_.put(numbers); }
  void finish(const TraceSummary* summary);
  std::uint64_t dropped() const noexcept {
    return refused_.load(std::memory_order_relaxed) + lost_.load(std::memory_order_relaxed);
  }
  const std::string& path() const noexcept { return file_.path; }

 private:
  void run();
  void write_what_came() noexcept;
  void write_summary(const TraceSummary& summary) noexcept;
  void write_page(bool ended) noexcept;
  void drain();
  void leave_out(const Record& record);
  void say_limit(const Record& first_left_out);
  void write_out();
  void give_up(const char* reason) noexcept;

  TraceFileHandle file_;  // the writer thread's, once that has been started
  const TraceHeader header_;
  const std::uint64_t limit_;
  const Warn warn_;
  LiveFile live_file_;  // likewise
  LiveBoard board_;

  RecordRing ring_;
  std::atomic<bool> closed_{false};
  std::atomic<bool> hurry_{false};         // the producer has woken the writer's thread
  std::uint64_t since_wake_ = 0;           // records; the producer's own
  std::atomic<std::uint64_t> refused_{0};  // by the ring, or after the end; written by the producer
  std::atomic<std::uint64_t> lost_{0};     // after a write had failed; written by the writer thread

  // The writer thread's own.
  std::string text_;
  std::uint64_t records_in_text_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t left_out_ = 0;        // beyond the limit
  bool half_ = false, over_ = false;  // groups have been left out; all kinds have
  bool failed_ = false;
  std::uint64_t shown_ = 0;  // of the board, that is in the latest page
  Duration next_page_{};
  bool page_failed_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool ending_ = false, ended_ = false;
  std::optional<TraceSummary> summary_;
};

bool TraceWriter::Implementation::start() {
  sigset_t all, before;
  sigfillset(&all);
  // The thread inherits the mask; no signal of the main job is ever handled on it.
  if (::pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool started = true;
  try {
    std::thread([self = shared_from_this()] { self->run(); }).detach();
  } catch (...) {
    started = false;  // there is no thread, or no memory for it
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void TraceWriter::Implementation::push(const Record& record) noexcept {
  if (closed_.load(std::memory_order_relaxed) || !ring_.push(record)) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // A burst does not wait for the next flush. Without the mutex, so the wake can be missed: it is given again.
  if (++since_wake_ < a_burst || ring_.waiting() < a_burst) return;
  since_wake_ = 0;
  hurry_.store(true, std::memory_order_relaxed);
  changed_.notify_all();
}

void TraceWriter::Implementation::run() {
  ::pthread_setname_np(::pthread_self(), "weft-trace");
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    write_what_came();
    write_page(false);
    lock.lock();
    changed_.wait_for(lock, flush_interval, [this] { return ending_ || hurry_.exchange(false); });
  }
  const std::optional<TraceSummary> summary = summary_;
  lock.unlock();
  write_what_came();
  if (summary) write_summary(*summary);
  if (summary) write_page(true);
  close_trace_file(file_);
  lock.lock();
  ended_ = true;
  changed_.notify_all();
}

// Only memory can run out in these two. A record that finds no memory is lost, and the process goes on.
void TraceWriter::Implementation::write_what_came() noexcept {
  try {
    drain();
    write_out();
  } catch (...) {
    give_up(std::strerror(ENOMEM));
    drain();  // counts what is left, and needs no memory for it
  }
}

void TraceWriter::Implementation::write_summary(const TraceSummary& summary) noexcept {
  try {
    TraceSummary complete = completed(summary, header_);
    complete.records_left_out = left_out_;
    append_summary(text_, complete);
    write_out();
  } catch (...) {
    give_up(std::strerror(ENOMEM));
  }
}

// Without it the process and its trace are as they were: that is said once, and there is no further page.
void TraceWriter::Implementation::write_page(bool ended) noexcept {
  const Duration now = clock_time(CLOCK_MONOTONIC);
  if (page_failed_ || (now < next_page_ && !ended)) return;
  const std::uint64_t latest = board_.take(live_file_.numbers());
  if (latest == 0 || (latest == shown_ && !ended)) return;
  shown_ = latest;
  next_page_ = now + between_pages;
  const int error = live_file_.write(ended);
  page_failed_ = error != 0;
  if (!page_failed_ || failed_ || warn_ == nullptr) return;  // a line on the same disk is there already
  try {
    warn_(Audience::one_rank,
          "weft top sees no more of this rank: " + live_file_.path() + " cannot be written: " + std::strerror(error));
  } catch (...) {
    // The line is lost: there is no memory for it.
  }
}

void TraceWriter::Implementation::drain() {
  ring_.drain([this](const Record& record) {
    if (failed_) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const std::size_t before = text_.size();
    append_record(text_, record);
    const bool is_over = over_ || bytes_written_ + text_.size() > limit_of(record.kind, limit_);
    if (!is_written_beyond_the_limit(record.kind) && is_over) {
      text_.resize(before);
      leave_out(record);
      return;
    }
    ++records_in_text_;
    if (text_.size() >= longest_text) write_out();
  });
}

void TraceWriter::Implementation::leave_out(const Record& record) {
  ++left_out_;
  const bool is_group = record.kind == RecordKind::group;
  const bool is_half = is_group && !over_ && bytes_written_ + text_.size() <= limit_;
  if (is_half && !std::exchange(half_, true) && warn_ != nullptr && is_new(FileNote::half, file_))
    warn_(Audience::one_rank, "the groups in the trace " + file_.path +
                                  " have reached half of WEFT_TRACE_LIMIT: from here on they are only counted");
  if (!is_half && !std::exchange(over_, true)) say_limit(record);
}

// Ranks write about as much: one of them speaks for all, the records are in each trace.
void TraceWriter::Implementation::say_limit(const Record& first_left_out) {
  append_record(text_, Record(first_left_out.device, first_left_out.time, LimitRecord{limit_}));
  if (warn_ != nullptr && is_new(FileNote::limit, file_))
    warn_(Audience::one_rank, "the trace " + file_.path +
                                  " has reached WEFT_TRACE_LIMIT: from here on it gets only summary, anomalies, " +
                                  "memory and slowdown, and so do those of the other ranks");
}

void TraceWriter::Implementation::write_out() {
  if (failed_ || text_.empty()) return;
  const int error = append(file_, text_);
  if (error != 0) return give_up(error == EBADF ? "its descriptor was closed by the program" : std::strerror(error));
  bytes_written_ += text_.size();
  text_.clear();
  records_in_text_ = 0;
}

// Nothing is written from here on. How much of the text got into the file is not looked at: all of it counts as lost.
void TraceWriter::Implementation::give_up(const char* reason) noexcept {
  failed_ = true;
  lost_.fetch_add(records_in_text_, std::memory_order_relaxed);
  text_.clear();
  records_in_text_ = 0;
  try {
    if (warn_ != nullptr) warn_(Audience::every_rank, "the trace " + file_.path + " ends early: " + reason);
  } catch (...) {
    // The line is lost as well; the counter tells of it.
  }
}

void TraceWriter::Implementation::finish(const TraceSummary* summary) {
  closed_.store(true, std::memory_order_relaxed);
  // The thread does not exist in a forked child, and its mutex may have been copied while it was held.
  if (header_.process != ::getpid()) return;
  std::unique_lock lock(mutex_);
  if (ending_) return;
  if (summary != nullptr) summary_ = *summary;
  ending_ = true;
  changed_.notify_all();
  if (changed_.wait_for(lock, longest_finish, [this] { return ended_; })) return;
  // The thread may still write: the file has a writer.
  lock.unlock();
  forget_trace_file(file_);
}

TraceWriter::TraceWriter(std::shared_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}

TraceWriter::~TraceWriter() {
  implementation_->finish(nullptr);
}

std::unique_ptr<TraceWriter> TraceWriter::open(const std::string& directory, const TraceHeader& header,
                                               std::uint64_t limit, Warn warn, std::string& error) {
  TraceFileHandle file = open_trace_file(directory, trace_stem(header), error);
  if (file.descriptor < 0) return nullptr;
  auto implementation = std::make_shared<Implementation>(std::move(file), header, limit, std::move(warn));
  if (!implementation->start()) {
    error = "the thread that writes the trace cannot be started";
    return nullptr;
  }
  return std::unique_ptr<TraceWriter>(new TraceWriter(std::move(implementation)));
}

void TraceWriter::push(const Record& record) noexcept {
  implementation_->push(record);
}
void TraceWriter::show(const LiveNumbers& numbers) noexcept {
  implementation_->show(numbers);
}
std::uint64_t TraceWriter::dropped() const noexcept {
  return implementation_->dropped();
}
const std::string& TraceWriter::path() const noexcept {
  return implementation_->path();
}
void TraceWriter::finish(const TraceSummary& summary) {
  implementation_->finish(&summary);
}

}  // namespace weft
