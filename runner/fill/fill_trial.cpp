// Starting the fill probe and reading its verdict; see the header.
#include "runner/fill/fill_trial.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "runner/clock.h"

extern char** environ;
// clone() under the name that ThreadSanitizer does not take for a fork: the child shares our memory and its shadow.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace weft {
namespace {

constexpr int verdict_descriptor = 3;
constexpr std::size_t spawner_stack = 256 * 1024;

// LD_PRELOAD without libweft.so; others in it may be there for a reason (a sanitizer, another allocator).
std::string preload_without_weft(std::string_view value) {
  std::string kept = "LD_PRELOAD=";
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of(": "), value.size());
    const std::string_view entry = value.substr(0, end);
    if (!entry.empty() && !entry.ends_with("libweft.so")) kept += (kept.back() == '=' ? "" : ":") + std::string(entry);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return kept;
}

std::vector<std::string> child_environment() {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with("WEFT=")) continue;
    if (text.starts_with("LD_PRELOAD="))
      result.push_back(preload_without_weft(text.substr(std::string_view("LD_PRELOAD=").size())));
    else
      result.emplace_back(text);
  }
  result.emplace_back("WEFT=off");
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Spawn {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  pid_t child = 0;
  int error = 0;
};

// Runs in a short-lived process that shares our memory; its end leaves the probe without a parent in this process.
int spawn_and_leave(void* context) {
  auto& spawn = *static_cast<Spawn*>(context);
  spawn.error =
      ::posix_spawn(&spawn.child, spawn.program, &spawn.files, &spawn.attributes, spawn.arguments, spawn.environment);
  return 0;
}

void start(Spawn& spawn, int write_end) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_init(&spawn.attributes);
  ::posix_spawnattr_setsigmask(&spawn.attributes, &none);
  ::posix_spawnattr_setsigdefault(&spawn.attributes, &all);
  ::posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawn_file_actions_init(&spawn.files);
  ::posix_spawn_file_actions_adddup2(&spawn.files, write_end, verdict_descriptor);
  ::posix_spawn_file_actions_addopen(&spawn.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&spawn.files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&spawn.files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&spawn.files, verdict_descriptor + 1);

  void* const stack = ::mmap(nullptr, spawner_stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) {
    spawn.error = errno;
  } else {
    // The spawner has the main job's signal handlers and shares its memory: none of them may run there. And without an
    // exit signal a SIGCHLD handler of the main job hears nothing of its end.
    sigset_t before;
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t spawner =
        ::__clone(&spawn_and_leave, static_cast<char*>(stack) + spawner_stack, CLONE_VM | CLONE_VFORK, &spawn);
    if (spawner < 0) spawn.error = errno;
    if (spawner > 0)
      while (::waitpid(spawner, nullptr, static_cast<int>(__WCLONE)) < 0 && errno == EINTR) {
      }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::munmap(stack, spawner_stack);
  }
  ::posix_spawn_file_actions_destroy(&spawn.files);
  ::posix_spawnattr_destroy(&spawn.attributes);
}

// Reads until the other end is closed. False: that took longer than `limit`.
bool read_all(int descriptor, Duration limit, std::string& text) {
  const TimePoint deadline = now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now()).count();
    if (left <= 0) return false;
    pollfd wait{descriptor, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left));
    if (ready == 0) return false;
    if (ready < 0 && errno != EINTR) return true;
    if (ready < 0) continue;
    char buffer[512];
    const ssize_t size = ::read(descriptor, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

}  // namespace

std::string verdict_of(const std::string& path, const std::string& transcript, bool timed_out,
                       std::chrono::nanoseconds limit) {
  std::string step = "before init";
  std::string_view rest = transcript;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (line == "ok") return {};
    if (line.starts_with("failed ")) return std::string(line.substr(7));
    if (line.starts_with("at ")) step = "in " + std::string(line.substr(3));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const std::string job = "fill job " + path;
  if (!timed_out) return job + " crashed " + step + " (in a trial process)";
  return job + " hung " + step + ": its trial took longer than " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) + " s";
}

std::string try_fill_job(const std::string& probe, const FillSettings& settings, std::chrono::nanoseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "the fill job cannot be tried: no pipe";
  std::vector<std::string> arguments = {
      probe,
      std::to_string(settings.device),
      std::to_string(settings.memory),
      std::to_string(settings.unit.max_blocks),
      std::to_string(settings.unit.slice_cap.count()),
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count() + 1),
      settings.spec.path,
      settings.spec.arguments,
  };
  std::vector<std::string> environment = child_environment();
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  Spawn spawn{};
  spawn.program = probe.c_str();
  spawn.arguments = argument_pointers.data();
  spawn.environment = environment_pointers.data();
  start(spawn, ends[1]);
  ::close(ends[1]);

  std::string result;
  if (spawn.error != 0) {
    result = "the fill job cannot be tried: " + probe + " does not start";
  } else {
    std::string transcript;
    const bool ended = read_all(ends[0], limit, transcript);
    if (!ended) ::kill(spawn.child, SIGKILL);
    result = verdict_of(settings.spec.path, transcript, !ended, limit);
  }
  ::close(ends[0]);
  return result;
}

}  // namespace weft
