// Writing a line to stderr without harm to the process, whatever stderr is. For the shim's own words and the core's
// log.
//
// Any thread. Only libc; no lock, no allocation.
#pragma once

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace weft {

constexpr int stderr_patience = 100;  // milliseconds

// A lost message is no reason to disturb the process. A pipe that nobody reads would hold up the main job, perhaps for
// ever, and one that nobody can read any more would end it by SIGPIPE: what stderr does not take soon is lost, the
// signal of our own write is taken back, and a short or failed write is left as it is.
inline void write_to_stderr(const char* text, std::size_t size) noexcept {
  const int saved = errno;
  pollfd output{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&output, 1, stderr_patience) == 1 && output.revents == POLLOUT) {
    sigset_t broken_pipe, before, pending;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    sigemptyset(&pending);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    ::sigpending(&pending);
    const bool failed = ::write(STDERR_FILENO, text, size) < 0;
    constexpr timespec at_once{0, 0};
    if (failed && errno == EPIPE && sigismember(&pending, SIGPIPE) == 0)
      ::sigtimedwait(&broken_pipe, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  errno = saved;
}

}  // namespace weft
