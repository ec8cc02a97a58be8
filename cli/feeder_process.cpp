// See feeder_process.h.
#include "cli/feeder_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "cli/parse.h"
#include "runner/clock.h"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int most_starts = 5;  // of the feeder
constexpr Duration longest_start = 15s, longest_end = 10s;
constexpr const char* place = "/dev/shm";
constexpr const char* beginning = "weft-feeder-";

bool is_locked(const fs::path& folder) {
  for (const char* const name : {"watcher.lock", "feeder.lock"}) {
    const int file = ::open((folder / name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const bool locked = file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) != 0;
    ::close(file);
    if (locked) return true;
  }
  return false;
}

// Folders of this user whose feeder was killed together with all that would have removed them. A new one has no lock
// yet.
void remove_left_ones() {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
    struct stat status {};
    const fs::path& folder = entry.path();
    const bool is_ours = folder.filename().string().starts_with(beginning) && ::lstat(folder.c_str(), &status) == 0 &&
                         S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
    if (is_ours && ::time(nullptr) - status.st_mtim.tv_sec > 60 && !is_locked(folder)) fs::remove_all(folder, error);
  }
}

std::string make_folder() {
  remove_left_ones();
  std::string path = std::string(place) + "/" + beginning + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    throw std::runtime_error(std::string("no folder for the feeder can be made in ") + place + ": " +
                             std::strerror(errno) + "; start weft-feeder by hand and set WEFT_FEEDER");
  return path;
}

// The second process. It never returns.
class Watcher {
 public:
  Watcher(std::string feeder, std::string folder, int command)
      : feeder_(std::move(feeder)), folder_(std::move(folder)), command_(command) {}

  [[noreturn]] void watch() {
    // Held while this process lives: the folder is in use, also where the feeder has just died.
    const int lock = ::open((folder_ + "/watcher.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ::flock(lock, LOCK_EX | LOCK_NB);
    for (start_feeder(); !has_ended(200ms);) {
      pass_on();
      look_at_feeder();
      if (process_ == 0 && starts_ < most_starts && now() >= again_) start_feeder();
    }
    // Whoever reads what the command writes sees its end now, however long the feeder takes.
    pass_on();
    ::close(STDERR_FILENO);
    end_feeder();
    std::error_code error;
    fs::remove_all(folder_, error);
    ::_exit(0);
  }

 private:
  bool has_ended(Duration limit) const {
    std::array<pollfd, 2> files{{{command_, POLLIN, 0}, {messages_, POLLIN, 0}}};
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
    ::poll(files.data(), messages_ >= 0 ? 2 : 1, static_cast<int>(milliseconds));
    return files[0].revents != 0;
  }

  // The feeder's own words, through a pipe: it may hang long after the command has ended.
  void pass_on() {
    std::array<char, 4096> text{};
    while (messages_ >= 0) {
      const ssize_t got = ::read(messages_, text.data(), text.size());
      if (got < 0) return;
      if (got == 0) return close_messages();
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(got));
    }
  }

  void close_messages() {
    if (messages_ >= 0) ::close(messages_);
    messages_ = -1;
  }

  void start_feeder() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) ends[0] = ends[1] = -1;
    ++starts_;
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      ::dup2(ends[1], STDERR_FILENO);
      ::execl(feeder_.c_str(), feeder_.c_str(), "--remove", folder_.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    close_messages();
    messages_ = ends[0];
    if (process_ < 0) warn("no process for weft-feeder: fill jobs get no records");
    again_ = now() + starts_ * 1s;
  }

  void look_at_feeder() {
    int status = 0;
    if (process_ <= 0 || ::waitpid(process_, &status, WNOHANG) != process_) return;
    pass_on();
    const std::string how = WIFSIGNALED(status) ? "by signal " + std::to_string(WTERMSIG(status))
                                                : "with exit code " + std::to_string(WEXITSTATUS(status));
    process_ = 0;
    const bool again = starts_ < most_starts;
    warn("weft-feeder has ended " + how + (again ? "; it is started again" : "; fill jobs get no more records"));
    if (!again) close_messages();
  }

  // One that hangs in the kernel is left to it.
  void end_feeder() const {
    if (process_ <= 0) return;
    const auto has_gone = [this] { return ::waitpid(process_, nullptr, WNOHANG) != 0; };
    ::kill(process_, SIGTERM);
    if (wait_at_most(longest_end, has_gone)) return;
    ::kill(process_, SIGKILL);
    wait_at_most(longest_end, has_gone);
  }

  const std::string feeder_, folder_;
  const int command_;  // descriptor of the process
  int messages_ = -1;
  pid_t process_ = 0;
  int starts_ = 0;
  TimePoint again_{};  // not before
};

// Nothing of the command's stays open here but stderr, and no signal that is meant for it comes.
void leave_the_command(int command) {
  ::setsid();
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(command, STDERR_FILENO + 1);
  ::fcntl(STDERR_FILENO + 1, F_SETFD, FD_CLOEXEC);
  if (::syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0U) != 0)  // before Linux 5.9
    for (int file = STDERR_FILENO + 2; file < 65536; ++file) ::close(file);
  ::unsetenv("LD_PRELOAD");
  ::prctl(PR_SET_NAME, "weft-watcher");
  [[maybe_unused]] const int changed = ::chdir("/");
}

}  // namespace

// Through a child that ends at once: the command has no children that it does not know.
std::string start_feeder_beside(const fs::path& feeder) {
  const std::string folder = make_folder(), program = feeder.string();
  const long opened = ::syscall(SYS_pidfd_open, ::getpid(), 0U);
  // Above those that are put in the places of the standard ones, which may be closed here.
  const int command = opened < 0 ? -1 : ::fcntl(static_cast<int>(opened), F_DUPFD_CLOEXEC, STDERR_FILENO + 2);
  ::close(static_cast<int>(opened));
  if (command < 0)
    throw std::runtime_error(
        "this kernel has no pidfd_open (Linux 5.3); start weft-feeder by hand and set WEFT_FEEDER");
  const pid_t child = ::fork();
  if (child == 0) {
    if (::fork() != 0) ::_exit(0);
    leave_the_command(command);
    Watcher(program, folder, STDERR_FILENO + 1).watch();
  }
  ::close(command);
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  if (child < 0 || !wait_at_most(longest_start, [&] { return ::access((folder + "/ready").c_str(), F_OK) == 0; })) {
    std::error_code error;
    fs::remove_all(folder, error);
    throw std::runtime_error(program + " does not start");
  }
  return folder;
}

}  // namespace weft::cli
