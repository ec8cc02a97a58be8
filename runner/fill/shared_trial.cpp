// See the header.
#include "runner/fill/shared_trial.h"

#include <pthread.h>

#include <exception>

#include "runner/clock.h"
#include "runner/options/private_folder.h"
#include "runner/own_thread.h"

namespace weft {
namespace {

constexpr Duration look_every = std::chrono::milliseconds(10);
// Beyond its limit; for a rank that is stopped or stuck while it tries.
constexpr Duration patience_with_others = std::chrono::seconds(15);

}  // namespace

SharedTrial::SharedTrial(const std::string& probe, const Variables& variables, FillSettings settings, std::string key,
                         Duration limit, std::atomic<std::uint32_t>& times_given_back)
    : probe_(probe, variables),
      places_(private_places(variables)),
      settings_(std::move(settings)),
      key_(std::move(key)),
      limit_(limit),
      times_given_back_(times_given_back),
      started_(now().time_since_epoch().count()),
      no_memory_{"the fill job cannot be tried: no memory for it", {}, true} {}

void SharedTrial::start() {
  has_thread_.store(true);
  if (start_own_thread([self = shared_from_this()] { self->live(); })) return;
  has_thread_.store(false);
  conclude({"the fill job cannot be tried: no thread for it", {}, true});
}

void SharedTrial::live() noexcept {
  try {
    pthread_setname_np(pthread_self(), "weft-trial");
    // Makes the thread's place for exceptions now: where there is no memory for it later, the loader ends the process.
    [[maybe_unused]] const volatile int none = std::uncaught_exceptions();
    run();
  } catch (...) {
    // Only memory can run out here.
    if (runs_.load()) runs_no_more();
    conclude(std::move(no_memory_));
  }
  has_thread_.store(false, std::memory_order_release);
}

void SharedTrial::run() {
  file_ = TrialFile::open(places_, key_);
  const auto verdict = file_ ? run_with_others(*file_) : run_here();
  if (verdict) conclude(*verdict);
}

std::optional<TrialVerdict> SharedTrial::run_here() {
  runs_.store(true);
  auto verdict = try_fill_job(probe_, settings_, limit_, stop_);
  runs_no_more();
  return verdict;
}

void SharedTrial::runs_no_more() noexcept {
  times_given_back_.fetch_add(1, std::memory_order_release);
  runs_.store(false);
}

void SharedTrial::give_way() {
  conclude({"memory of the GPU ran short during the trial of the fill job", {}, true});
  stop();
}

std::optional<TrialVerdict> SharedTrial::run_with_others(const TrialFile& file) {
  const TimePoint asked = now();
  while (!stop_) {
    const bool mine = file.begin_trial();
    TrialNote note = file.read();
    if (mine && !note.verdict) {
      const TimePoint begins = now();
      // After so long those who waited have gone on.
      if (note.started == TimePoint{} || begins - note.started > limit_) note.first_started = begins;
      note.started = begins;
      file.write(note);
    }
    if (note.started != TimePoint{}) started_.store(note.first_started.time_since_epoch().count());
    if (note.verdict) {
      file.end_trial();
      return note.verdict;
    }
    if (mine) {
      note.verdict = run_here();
      if (note.verdict && !note.verdict->is_local) file.write(note);
      file.end_trial();
      return note.verdict;
    }
    if (now() - std::max(asked, note.started) > limit_ + patience_with_others)
      return TrialVerdict{"the fill job cannot be tried: the rank that tries it does not answer", {}, true};
    sleep_until(now() + look_every);
  }
  return std::nullopt;
}

std::optional<TrialVerdict> SharedTrial::verdict() const {
  const std::lock_guard lock(mutex_);
  return verdict_;
}

void SharedTrial::conclude(TrialVerdict verdict) noexcept {
  const std::lock_guard lock(mutex_);
  if (verdict_) return;
  verdict_ = std::move(verdict);
  has_verdict_.store(true, std::memory_order_release);
}

}  // namespace weft
