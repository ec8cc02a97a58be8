// Looks at /proc/self/task; see the header.
#include "thread_names.h"

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

namespace measures {

void ThreadNames::start(std::chrono::milliseconds interval) {
  // The new thread inherits the mask: the program's signals stay with the program's threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this, interval] {
    for (;; std::this_thread::sleep_for(interval)) look();
  }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::string ThreadNames::name(std::uint32_t thread) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(thread);
  return found == names_.end() ? std::string() : found->second;
}

// A thread may take its name at any time of its life, and may end while it is looked at.
void ThreadNames::look() {
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end; !error && task != end;
       task.increment(error)) {
    std::string name;
    std::ifstream(task->path() / "comm") >> name;
    if (!name.starts_with(beginning_)) continue;
    const std::lock_guard lock(mutex_);
    names_[static_cast<std::uint32_t>(std::stoul(task->path().filename()))] = name;
  }
}

}  // namespace measures
