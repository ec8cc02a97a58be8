// weft-feeder: reads records and weights for the fill jobs of this node, and writes their results.
//
// Started by weft run, which ends it when the training has ended, or by hand. Never preloaded, never a child of a rank
// or of a launcher: what happens to it, or to the file system, happens to no training. One process for each folder; the
// ranks find it by WEFT_FEEDER.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "feeder/feeder.h"
#include "runner/log.h"
#include "weft/version.h"

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void stop_soon(int) {
  stop = true;
}

// The lock goes with the process.
void claim(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw std::runtime_error("the folder " + folder + " cannot be made: " + std::strerror(errno));
  const std::string path = folder + "/feeder.lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) throw std::runtime_error("another weft-feeder serves " + folder);
  std::ofstream(folder + "/ready") << ::getpid() << '\n';  // for weft run, which waits for it
}

}  // namespace

int main(int argument_count, char** arguments) {
  CLI::App app(
      "weft-feeder FOLDER\n"
      "Reads records and weights for fill jobs, and writes their results. weft run starts one where it is needed; to\n"
      "start one by hand, give the ranks of this node WEFT_FEEDER=FOLDER, a folder in shared memory (/dev/shm). Ends\n"
      "by SIGTERM or SIGINT. The exit code is 0 then, and 1 when the folder cannot be used.",
      "weft-feeder");
  std::string folder;
  app.add_option("FOLDER", folder, "Where the ranks and the feeder meet; made when it is not there.")->required();
  bool remove = false;
  app.add_flag("--remove", remove, "Remove the folder at the end.");
  app.set_version_flag("--version", "weft-feeder " WEFT_VERSION_STRING);
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  struct sigaction action {};
  action.sa_handler = stop_soon;
  for (const int signal : {SIGTERM, SIGINT}) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);  // the call that fails says so
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;  // one for each shard in work
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::setpriority(PRIO_PROCESS, 0, 10);  // the training's threads go first, and its memory
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  weft::set_log_level(weft::LogLevel::warn);
  try {
    claim(folder);
    weft::Feeder(folder).run(stop);
    std::error_code error;
    if (remove) std::filesystem::remove_all(folder, error);
  } catch (const std::exception& error) {
    weft::log(weft::LogLevel::error, error.what());
    return 1;
  }
  return 0;
}
