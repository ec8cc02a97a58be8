// Starting a thread of Weft's in the process of the main job: detached, and no signal of the main job ever lands on it.
//
// Any thread of the core. Whoever starts one bounds its waiting for it by itself.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace weft {

// `run` must not throw. False: there is no thread, or no memory for it.
template <class Run>
bool start_own_thread(Run run) noexcept {
  sigset_t all, before;
  sigfillset(&all);
  // The thread inherits the mask.
  if (::pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool started = true;
  try {
    std::thread(std::move(run)).detach();
  } catch (...) {
    started = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace weft
