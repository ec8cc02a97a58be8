// The helper threads; see workers.h.
#include "engine/workers.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace simgpu {

bool start_thread(const char* name, std::function<void()> body) {
  // Signals belong to the application's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread thread(std::move(body));
    pthread_setname_np(thread.native_handle(), name);
    thread.detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void take_precedence(Precedence precedence) {
  if (precedence == Precedence::host) return;
  sched_param parameters{};
  parameters.sched_priority = sched_get_priority_min(SCHED_RR) + (precedence == Precedence::engine ? 1 : 0);
  if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameters) == 0) return;
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  std::fprintf(stderr, "simgpu: SIMGPU_SCHEDULING=realtime is ignored: %s\n", std::strerror(errno));
}

void Workers::post(std::function<void()> job) {
  const std::scoped_lock guard(mutex_);
  if (stopped_) return;
  jobs_.push_back(std::move(job));
  if (started_ < wanted_ && start_thread(name_, [this] { run(); })) ++started_;
  wake_.notify_one();
}

void Workers::stop() {
  const std::scoped_lock guard(mutex_);
  stopped_ = true;
  jobs_.clear();
}

void Workers::run() {
  take_precedence(precedence_);
  for (;;) {
    std::unique_lock guard(mutex_);
    wake_.wait(guard, [this] { return !jobs_.empty(); });
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    guard.unlock();
    job();
  }
}

}  // namespace simgpu
