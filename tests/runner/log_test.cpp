// Messages on a stderr that takes nothing: a pipe that is full and that nobody reads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <string>

#include "runner/log.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

class FullStderr {
 public:
  FullStderr() : before_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0);
    fill();
    const int flags = ::fcntl(ends_[1], F_GETFL);
    EXPECT_EQ(::fcntl(ends_[1], F_SETFL, flags & ~O_NONBLOCK), 0);
    EXPECT_EQ(::dup2(ends_[1], STDERR_FILENO), STDERR_FILENO);
  }
  ~FullStderr() {
    ::dup2(before_, STDERR_FILENO);
    for (const int descriptor : {before_, ends_[0], ends_[1]}) ::close(descriptor);
  }
  // What the reader gets when it reads on.
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

  const int before_;
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

}  // namespace
}  // namespace weft
