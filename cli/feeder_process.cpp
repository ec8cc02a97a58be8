// See feeder_process.h.
#include "cli/feeder_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

constexpr int most_starts = 5;  // of the feeder
constexpr Duration longest_end = 10s;

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Signals that are for the command, and the end of a child.
sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

class Beside {
 public:
  Beside(std::string feeder, std::string folder) : feeder_(std::move(feeder)), folder_(std::move(folder)) {
    const sigset_t set = watched();
    ::sigprocmask(SIG_BLOCK, &set, &before_);
  }

  int run(const std::vector<std::string>& command) {
    start_feeder();
    command_ = start(command, SIGKILL, false);
    int status = 0;
    while (!look(status)) {
      const sigset_t set = watched();
      siginfo_t info{};
      const int signal = ::sigwaitinfo(&set, &info);
      // From the terminal the command has it already.
      if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL) ::kill(command_, signal);
    }
    end_feeder();
    return status;
  }

 private:
  // Where the parent dies the child gets that signal.
  pid_t start(const std::vector<std::string>& words, int at_parents_end, bool is_feeder) {
    const std::vector<char*> arguments = pointers_to(words);
    const pid_t parent = ::getpid(), child = ::fork();
    if (child < 0) throw std::runtime_error(std::string("no process: ") + std::strerror(errno));
    if (child > 0) return child;
    ::prctl(PR_SET_PDEATHSIG, at_parents_end);
    if (::getppid() != parent) ::_exit(1);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    if (is_feeder) {
      ::setpgid(0, 0);
      ::unsetenv("LD_PRELOAD");
      ::dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    ::execvp(arguments.front(), arguments.data());
    const int error = errno;
    complain("cannot run '" + words.front() + "': " + std::strerror(error));
    ::_exit(error == ENOENT ? 127 : 126);
  }

  void start_feeder() {
    feeder_process_ = start({feeder_, "--remove", folder_}, SIGTERM, true);
    ++starts_;
  }

  // True: the command has ended, with this status.
  bool look(int& status) {
    for (;;) {
      int ended = 0;
      const pid_t child = ::waitpid(-1, &ended, WNOHANG);
      if (child <= 0) return false;
      if (child == command_) {
        status = ended;
        return true;
      }
      if (child != feeder_process_) continue;
      feeder_process_ = 0;
      const std::string how = WIFSIGNALED(ended) ? "by signal " + std::to_string(WTERMSIG(ended))
                                                 : "with exit code " + std::to_string(WEXITSTATUS(ended));
      const bool again = starts_ < most_starts;
      warn("weft-feeder has ended " + how + (again ? "; it is started again" : "; fill jobs get no more records"));
      if (again) start_feeder();
    }
  }

  void end_feeder() {
    if (feeder_process_ == 0) return;
    ::kill(feeder_process_, SIGTERM);
    const auto has_ended = [this] { return ::waitpid(feeder_process_, nullptr, WNOHANG) != 0; };
    if (wait_at_most(longest_end, has_ended)) return;
    ::kill(feeder_process_, SIGKILL);
    ::waitpid(feeder_process_, nullptr, 0);
    warn("weft-feeder did not end and was killed: some records may have to be done again");
  }

  const std::string feeder_, folder_;
  sigset_t before_{};
  pid_t command_ = 0, feeder_process_ = 0;
  int starts_ = 0;
};

// As the command ended, so that a shell or a launcher sees the same.
int end_as(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  ::prctl(PR_SET_DUMPABLE, 0);  // one core of it is enough
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  return 128 + signal;
}

}  // namespace

std::string make_feeder_folder() {
  std::string path = "/dev/shm/weft-feeder-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    throw std::runtime_error(std::string("no folder for the feeder can be made in /dev/shm: ") + std::strerror(errno) +
                             "; start weft-feeder by hand and set WEFT_FEEDER");
  return path;
}

int run_beside_feeder(const std::vector<std::string>& command, const std::filesystem::path& feeder,
                      const std::string& folder) {
  const int status = Beside(feeder.string(), folder).run(command);
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  return end_as(status);
}

}  // namespace weft::cli
