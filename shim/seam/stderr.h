// Writing a line to stderr without harm to the process, whatever stderr is. For the shim's own words and the core's
// log.
//
// Any thread. Only libc; no lock, no allocation.
//
// The signals: SIGPIPE where nobody can read any more, SIGXFSZ where a file is at the process's limit, SIGTTOU where
// the terminal belongs to another job; each would end or stop the process.
#pragma once

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace weft {

constexpr int stderr_patience = 100;  // milliseconds

// A signal that is blocked and pending.
inline void take_back(int signal) noexcept {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  constexpr timespec at_once{0, 0};
  ::sigtimedwait(&only, nullptr, &at_once);
}

// A lost message is no reason to disturb the process. A pipe that nobody reads would hold up the main job, perhaps for
// ever: what stderr does not take soon is lost, a signal of our own write is taken back, and a short or failed write is
// left as it is.
inline void write_to_stderr(const char* text, std::size_t size) noexcept {
  const int saved = errno;
  pollfd output{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&output, 1, stderr_patience) == 1 && output.revents == POLLOUT) {
    sigset_t blocked, before, pending;
    sigemptyset(&blocked);
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGTTOU}) sigaddset(&blocked, signal);
    sigemptyset(&pending);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    ::sigpending(&pending);
    const bool failed = ::write(STDERR_FILENO, text, size) < 0;
    const int raised = !failed ? 0 : errno == EPIPE ? SIGPIPE : errno == EFBIG ? SIGXFSZ : 0;
    if (raised != 0 && sigismember(&pending, raised) == 0) take_back(raised);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  errno = saved;
}

}  // namespace weft
