// Remembers which threads of this process had a name with a given beginning, also when they have ended.
//
// CUPTI names a thread by its number only, and delivers most records when the process ends: by then Weft's threads are
// gone, and nothing of the system knows their names any more. So a thread of its own looks again and again, from
// start() to the end of the process, and the object must live as long. It makes no call of CUDA or CUPTI and takes no
// signal; nobody waits for it, since a forked child has none. A thread that lives shorter than one interval may be
// missed.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace measures {

class ThreadNames {
 public:
  explicit ThreadNames(std::string beginning) : beginning_(std::move(beginning)) {}
  void start(std::chrono::milliseconds interval);
  // Any thread. "": it never had such a name.
  std::string name(std::uint32_t thread);

 private:
  void look();

  const std::string beginning_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::string> names_;
};

}  // namespace measures
