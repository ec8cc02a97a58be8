// The thread that writes a recording and the way to it; see the header.
//
// The thread is detached and shares ownership of everything it touches: whoever waits for it can stop waiting, and a
// process may exit while it runs.
#include "runner/recording/recording.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "runner/own_thread.h"
#include "runner/recording/blocks.h"
#include "runner/recording/byte_ring.h"
#include "trace/write/file.h"
#include "trace/write/writer.h"

namespace weft {
namespace {

constexpr std::chrono::milliseconds flush_interval{100};
constexpr std::chrono::seconds longest_finish{2};
constexpr std::size_t ring_bytes = most_block_bytes;  // seconds of the busiest training
constexpr std::size_t a_burst = ring_bytes / 8;       // that waits: more do not wait for the next flush

}  // namespace

class Recording::Implementation : public std::enable_shared_from_this<Recording::Implementation> {
 public:
  Implementation(TraceFileHandle file, const TraceHeader& header, std::uint64_t limit, Warn warn)
      : file_(std::move(file)),
        process_(header.process),
        limit_(limit),
        warn_(std::move(warn)),
        ring_(ring_bytes),
        bytes_(file_.bytes) {
    if (file_.bytes == 0) text_ = prefix_bytes();
    append_header_block(text_, header);
    bytes_ += text_.size();
    if (file_.bytes != 0 && bytes_ >= limit_) leave_as_it_is();
  }
  ~Implementation() { close_trace_file(file_); }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  bool start() {
    return start_own_thread([self = shared_from_this()] { self->run(); });
  }
  void push(std::string_view entry) noexcept;
  void finish(const TraceSummary* summary);
  const std::string& path() const noexcept { return file_.path; }

 private:
  enum class State : std::uint8_t { open, limit, behind, closed };

  void leave_as_it_is();
  void run() noexcept;
  void write_what_came() noexcept;
  void write_end(const std::optional<TraceSummary>& summary) noexcept;
  void write_out();
  void say_limit() noexcept;
  void say(Audience audience, const char* what, int error = 0) noexcept;

  TraceFileHandle file_;  // the writing thread's, once that has been started
  const std::int64_t process_;
  const std::uint64_t limit_;
  const Warn warn_;

  ByteRing ring_;
  std::atomic<State> state_{State::open};  // written by the producer, which ends it
  std::atomic<bool> hurry_{false};         // the producer has woken the writing thread
  std::uint64_t bytes_;                    // in the file, or on their way; the producer's own

  // The writing thread's own.
  std::string text_, calls_;
  bool over_ = false;  // the file has its end, or cannot be written

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool ending_ = false, ended_ = false;
  std::optional<TraceSummary> summary_;
};

// The device has filled the file before it was opened again.
void Recording::Implementation::leave_as_it_is() {
  text_.clear();
  state_ = State::limit;
  over_ = true;
}

void Recording::Implementation::push(std::string_view entry) noexcept {
  if (state_.load(std::memory_order_relaxed) != State::open) return;
  bytes_ += entry.size();
  if (bytes_ > limit_) return state_.store(State::limit, std::memory_order_release);
  if (!ring_.push(entry)) return state_.store(State::behind, std::memory_order_release);
  // Without the mutex, so the wake can be missed: it is given again.
  if (hurry_.load(std::memory_order_relaxed) || bytes_ % a_burst >= entry.size() || ring_.waiting() < a_burst) return;
  hurry_.store(true, std::memory_order_relaxed);
  changed_.notify_all();
}

void Recording::Implementation::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "weft-record");
  if (over_) say_limit();
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    write_what_came();
    lock.lock();
    changed_.wait_for(lock, flush_interval, [this] { return ending_ || hurry_.exchange(false); });
  }
  const std::optional<TraceSummary> summary = summary_;
  lock.unlock();
  write_what_came();
  write_end(summary);
  close_trace_file(file_);
  lock.lock();
  ended_ = true;
  changed_.notify_all();
}

// Only memory can run out here and in write_end(): then the file ends where it is.
void Recording::Implementation::write_what_came() noexcept {
  if (over_) return;
  try {
    // From before the entries: after the last one the state changes no more.
    const State state = state_.load(std::memory_order_acquire);
    calls_.clear();
    ring_.drain(calls_);
    if (!calls_.empty()) append_block(text_, BlockKind::calls, calls_);
    if (state == State::limit || state == State::behind)
      append_end_block(text_, state == State::limit ? RecordingEnd::limit : RecordingEnd::behind, nullptr);
    write_out();
    if (over_ || state == State::open || state == State::closed) return;
    over_ = true;
    if (state == State::limit)
      say_limit();
    else
      say(Audience::every_rank, "ends early: the disk does not keep up");
  } catch (...) {
    over_ = true;
    say(Audience::every_rank, "ends early: ", ENOMEM);
  }
}

void Recording::Implementation::write_end(const std::optional<TraceSummary>& summary) noexcept {
  if (over_) return;
  try {
    append_end_block(text_, summary ? RecordingEnd::complete : RecordingEnd::without_summary,
                     summary ? &*summary : nullptr);
    write_out();
  } catch (...) {
    over_ = true;
  }
}

void Recording::Implementation::write_out() {
  if (text_.empty()) return;
  const int error = append_whole(file_, text_);
  text_.clear();
  if (error == 0) return;
  over_ = true;
  say(Audience::every_rank, "ends early: ", error);
}

void Recording::Implementation::say_limit() noexcept {
  if (!is_new(FileNote::limit, file_)) return;
  say(Audience::one_rank, "has reached WEFT_RECORD_LIMIT and ends, and so do those of the other ranks");
}

void Recording::Implementation::say(Audience audience, const char* what, int error) noexcept {
  const char* const why = error == 0       ? ""
                          : error == EBADF ? "its descriptor was closed by the program"
                                           : std::strerror(error);
  try {
    if (warn_ != nullptr) warn_(audience, "the recording " + file_.path + " " + what + why);
  } catch (...) {
    // The line is lost; the file tells by its end, or by having none.
  }
}

void Recording::Implementation::finish(const TraceSummary* summary) {
  State open = State::open;
  state_.compare_exchange_strong(open, State::closed, std::memory_order_release);
  // The thread does not exist in a forked child, and its mutex may have been copied while it was held.
  if (process_ != ::getpid()) return;
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

Recording::Recording(std::shared_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}

Recording::~Recording() {
  implementation_->finish(nullptr);
}

std::unique_ptr<Recording> Recording::open(const std::string& directory, const TraceHeader& header, std::uint64_t limit,
                                           Warn warn, std::string& error) {
  TraceFileHandle file = open_trace_file(directory, trace_stem(header), error, ".weftrec");
  if (file.descriptor < 0) return nullptr;
  auto implementation = std::make_shared<Implementation>(std::move(file), header, limit, std::move(warn));
  if (!implementation->start()) {
    error = "the thread that writes the recording cannot be started";
    return nullptr;
  }
  return std::unique_ptr<Recording>(new Recording(std::move(implementation)));
}

void Recording::push(std::string_view entry) noexcept {
  implementation_->push(entry);
}
const std::string& Recording::path() const noexcept {
  return implementation_->path();
}
void Recording::finish(const TraceSummary& summary) {
  implementation_->finish(&summary);
}

}  // namespace weft
