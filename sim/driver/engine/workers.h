// Threads that do the host-side work of the simulated GPU: effects of kernels and copies ("simgpu-work"), and the
// application's host functions, one at a time and in order ("simgpu-call"). Started at first use, never joined: they
// end with the process. Jobs are posted under the engine's lock and run without it.
//
// A GPU does not compete with its hosts for processors; the threads that stand in for it do. With
// SIMGPU_SCHEDULING=realtime they go before all threads of hosts, as `Precedence` says.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace simgpu {

enum class Precedence {
  host,    // as any thread of the program
  effect,  // before all hosts
  engine,  // before the effects: it decides when they begin
};

class Workers {
 public:
  Workers(const char* name, unsigned threads, Precedence precedence)
      : name_(name), wanted_(threads), precedence_(precedence) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void post(std::function<void()> job);
  // Jobs that have not begun are dropped, none begins any more. For the end of the process.
  void stop();

 private:
  void run();
  const char* const name_;
  const unsigned wanted_;
  const Precedence precedence_;
  unsigned started_ = 0;
  bool stopped_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
};

// A detached thread with that name and with all signals blocked. False when there are no more threads to be had.
bool start_thread(const char* name, std::function<void()> body);
// For the calling thread, not for those that it starts. Says on stderr, once, where the machine does not permit it.
void take_precedence(Precedence precedence);

}  // namespace simgpu
