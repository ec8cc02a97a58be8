// A Redis server of a test: the real one, on a socket in the folder of the test, without a port.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runner/clock.h"

namespace weft::testing {

class RedisServer {
 public:
  // `options`: of redis-server, in pairs. All that it keeps is in the folder: it can be started again.
  explicit RedisServer(std::filesystem::path folder, std::vector<std::string> options = {})
      : folder_(std::move(folder)), options_(std::move(options)) {
    start();
  }
  RedisServer(RedisServer&& other) noexcept
      : folder_(std::move(other.folder_)),
        options_(std::move(other.options_)),
        process_(std::exchange(other.process_, 0)) {}
  RedisServer& operator=(RedisServer&&) = delete;
  ~RedisServer() { stop(); }

  std::string socket() const { return (folder_ / "redis").string(); }
  std::string address() const { return "redis+unix://" + socket(); }

  void start() {
    // The package of the tools has the server, too, which starts no service when it is installed.
    static constexpr const char* programs[] = {"/usr/bin/redis-server", "/usr/bin/redis-check-rdb"};
    std::vector<std::string> words{"redis-server",
                                   "--port",
                                   "0",
                                   "--unixsocket",
                                   socket(),
                                   "--dir",
                                   folder_.string(),
                                   "--appendonly",
                                   "yes",
                                   "--appendfsync",
                                   "always",
                                   "--save",
                                   "",
                                   "--loglevel",
                                   "warning"};
    words.insert(words.end(), options_.begin(), options_.end());
    process_ = ::fork();
    if (process_ == 0) {
      std::vector<char*> texts;
      for (std::string& word : words) texts.push_back(word.data());
      texts.push_back(nullptr);
      if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(1);
      for (const char* const program : programs) ::execv(program, texts.data());
      ::_exit(127);
    }
    EXPECT_TRUE(wait_at_most(std::chrono::seconds(10), [this] { return answers(); }))
        << "no redis-server is installed (redis-tools)";
  }
  void pause() const { ::kill(process_, SIGSTOP); }
  void go_on() const { ::kill(process_, SIGCONT); }
  // As a crash does.
  void stop() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
    std::filesystem::remove(socket());
  }

 private:
  bool answers() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
    const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool does = ::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(file);
    return does;
  }

  std::filesystem::path folder_;
  std::vector<std::string> options_;
  pid_t process_ = 0;
};

}  // namespace weft::testing
