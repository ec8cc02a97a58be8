// Messages on a stderr that takes nothing, or that the kernel answers with a signal: a pipe that is full and that
// nobody reads, one without a reader, a file at the limit, the terminal of another job.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <future>
#include <optional>
#include <string>

#include "runner/log.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

// Takes the place of stderr while it lives.
class StandIn {
 public:
  explicit StandIn(int output) : before_(::dup(STDERR_FILENO)) { ::dup2(output, STDERR_FILENO); }
  ~StandIn() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }

 private:
  const int before_;
};

class FullStderr {
 public:
  FullStderr() {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0);
    fill();
    const int flags = ::fcntl(ends_[1], F_GETFL);
    EXPECT_EQ(::fcntl(ends_[1], F_SETFL, flags & ~O_NONBLOCK), 0);
    stand_in_.emplace(ends_[1]);
  }
  ~FullStderr() {
    stand_in_.reset();
    for (const int descriptor : ends_) ::close(descriptor);
  }
  // The text that the reader gets when it reads on.
  std::string read_all() const {
    std::string text;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(ends_[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(size));
    return text;
  }

 private:
  void fill() const {
    const std::string block(4096, '.');
    while (::write(ends_[1], block.data(), block.size()) > 0) continue;
    while (::write(ends_[1], ".", 1) > 0) continue;
  }

  std::optional<StandIn> stand_in_;
  int ends_[2] = {-1, -1};
};

TEST(Log, AStderrThatNobodyReadsHoldsNobodyUp) {
  const FullStderr output;
  auto said = std::async(std::launch::async, [] {
    print("a result");
    log(LogLevel::error, "a message");
    log_parts(LogLevel::error, {"a message ", "in parts"});
  });
  const bool returned = said.wait_for(10s) == std::future_status::ready;
  output.read_all();  // lets it go where it does not return by itself
  said.wait();
  EXPECT_TRUE(returned);
  print("the next result");
  EXPECT_EQ(output.read_all(), "weft: the next result\n");
}

TEST(Log, WarningsAndErrorsSayThatTheyAre) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  {
    const StandIn stand_in(ends[1]);
    set_log_level(LogLevel::info);
    log(LogLevel::info, "one");
    log(LogLevel::warn, "two");
    log(LogLevel::error, "three");
    log_parts(LogLevel::info, {"fo", "ur"});
    log_parts(LogLevel::warn, {"fi", "ve"});
    print("six");
    set_log_level(LogLevel::warn);
  }
  ::close(ends[1]);
  char buffer[512];
  const ssize_t size = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(size)),
            "weft: one\nweft: warning: two\nweft: error: three\nweft: four\nweft: warning: five\nweft: six\n");
}

// As a C++ program has it: SIGPIPE ends the process.
class LogWithoutReader : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = ::signal(SIGPIPE, SIG_DFL);
    ASSERT_EQ(::pipe2(pipe_, O_CLOEXEC), 0);
    ::close(pipe_[0]);
    // One that polls as writable and is not: what a pipe does whose reader goes between the two.
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_), 0);
    ASSERT_EQ(::shutdown(socket_[0], SHUT_WR), 0);
  }
  void TearDown() override {
    for (const int descriptor : {pipe_[1], socket_[0], socket_[1]}) ::close(descriptor);
    ::signal(SIGPIPE, before_);
  }
  static bool is_pending() {
    sigset_t pending;
    ::sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
  }

  int pipe_[2] = {-1, -1};
  int socket_[2] = {-1, -1};
  sighandler_t before_ = SIG_DFL;
};

TEST_F(LogWithoutReader, TheProcessLives) {
  for (const int output : {pipe_[1], socket_[0]}) {
    const StandIn stand_in(output);
    errno = 5;
    print("a result");
    log(LogLevel::error, "a message");
    log_parts(LogLevel::error, {"a message ", "in parts"});
    EXPECT_EQ(errno, 5);
  }
  EXPECT_FALSE(is_pending());
}

TEST_F(LogWithoutReader, ASignalOfTheMainJobStaysPending) {
  sigset_t broken_pipe, mask;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &mask);
  ::raise(SIGPIPE);
  {
    const StandIn stand_in(socket_[0]);
    print("a result");
  }
  EXPECT_TRUE(is_pending());
  constexpr timespec at_once{0, 0};
  ::sigtimedwait(&broken_pipe, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

// A write beyond the limit raises SIGXFSZ, which ends a C++ program.
TEST(LogInAFile, TheProcessLivesAtTheFileSizeLimit) {
  char name[] = "/tmp/weft-log-test-XXXXXX";
  const int file = ::mkstemp(name);
  ASSERT_GE(file, 0);
  ::unlink(name);
  const auto before = ::signal(SIGXFSZ, SIG_DFL);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  {
    const StandIn stand_in(file);
    const rlimit nothing{0, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &nothing);
    print("a result");
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
  EXPECT_EQ(::lseek(file, 0, SEEK_END), 0);
  ::signal(SIGXFSZ, before);
  ::close(file);
}

// Whoever writes to a terminal that belongs to another job is stopped where `stty tostop` was said. Status of the
// writing process as waitpid() has it.
int write_in_the_background() {
  ::setsid();
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return -1;
  const int terminal = ::open(::ptsname(master), O_RDWR);
  termios settings{};
  if (::tcgetattr(terminal, &settings) != 0) return -1;
  settings.c_lflag |= TOSTOP;
  if (::tcsetattr(terminal, TCSANOW, &settings) != 0) return -1;
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::setpgid(0, 0);
    ::dup2(terminal, STDERR_FILENO);
    print("a result");
    ::_exit(7);
  }
  int status = -1;
  ::waitpid(writer, &status, WUNTRACED);
  ::kill(writer, SIGKILL);
  return status;
}

TEST(LogOnATerminal, TheProcessIsNotStopped) {
  const pid_t session = ::fork();
  if (session == 0) {
    const int status = write_in_the_background();
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = -1;
  ::waitpid(session, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace weft
