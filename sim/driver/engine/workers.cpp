// The helper threads; see workers.h.
#include "engine/workers.h"

#include <pthread.h>

#include <csignal>
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
