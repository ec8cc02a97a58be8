// See the header.
#include "runner/fill/shared_trial.h"

#include <pthread.h>

#include <csignal>
#include <exception>

#include "runner/clock.h"
#include "runner/options/private_folder.h"

namespace weft {
namespace {

constexpr Duration look_every = std::chrono::milliseconds(10);
// Beyond its limit; for a rank that is stopped or stuck while it tries.
constexpr Duration patience_with_others = std::chrono::seconds(15);

}  // namespace

SharedTrial::SharedTrial(const std::string& probe, const Variables& variables, FillSettings settings, std::string key,
                         Duration limit)
    : probe_(probe, variables),
      places_(private_places(variables)),
      settings_(std::move(settings)),
      key_(std::move(key)),
      limit_(limit),
      started_(now().time_since_epoch().count()),
      no_memory_{"the fill job cannot be tried: no memory for it", {}, true} {}

void SharedTrial::start() {
  // A signal for the main job must never land on this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_t thread{};
  auto self = std::make_unique<std::shared_ptr<SharedTrial>>(shared_from_this());
  has_thread_.store(true);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool running = pthread_attr_init(&attributes) == 0;
  if (running) {
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    running = pthread_create(&thread, &attributes, &SharedTrial::thread_main, self.get()) == 0;
    pthread_attr_destroy(&attributes);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (running) {
    [[maybe_unused]] const auto* const of_the_thread = self.release();
    return;
  }
  has_thread_.store(false);
  conclude({"the fill job cannot be tried: no thread for it", {}, true});
}

void* SharedTrial::thread_main(void* self) {
  const std::unique_ptr<std::shared_ptr<SharedTrial>> owned(static_cast<std::shared_ptr<SharedTrial>*>(self));
  SharedTrial& trial = **owned;
  try {
    pthread_setname_np(pthread_self(), "weft-trial");
    // Makes the thread's place for exceptions now: where there is no memory for it later, the loader ends the process.
    [[maybe_unused]] const volatile int none = std::uncaught_exceptions();
    trial.run();
  } catch (...) {
    // Only memory can run out here.
    trial.runs_.store(false);
    trial.conclude(std::move(trial.no_memory_));
  }
  trial.has_thread_.store(false, std::memory_order_release);
  return nullptr;
}

void SharedTrial::run() {
  file_ = TrialFile::open(places_, key_);
  const auto verdict = file_ ? run_with_others(*file_) : run_here();
  if (verdict) conclude(*verdict);
}

std::optional<TrialVerdict> SharedTrial::run_here() {
  runs_.store(true);
  auto verdict = try_fill_job(probe_, settings_, limit_, stop_);
  runs_.store(false);
  return verdict;
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
    if (note.started != TimePoint{}) started_.store(note.started.time_since_epoch().count());
    if (note.verdict) {
      file.end_trial();
      return note.verdict;
    }
    if (mine) {
      note.started = now();
      file.write(note);
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
