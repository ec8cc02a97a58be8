// A probe starts itself again where the answer depends on the environment, or needs several processes.
//
// Called on the probe's main thread, before the GPU is used there or after; a child is a fresh process (exec), dies
// with its parent, and is killed when the probe ends. Nothing of the parent's GPU state reaches it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace probe {

// No answer in the time given: that says nothing about whether there would have been one.
struct TooSlow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

class Child {
 public:
  // This program with --part and these arguments.
  Child(const std::vector<std::string>& part, const Environment& environment);
  // Another program, found on PATH; what it writes to stderr comes with its output.
  Child(const std::vector<std::string>& command, const Environment& environment, bool with_stderr);

  struct Result {
    int code;  // of exit; -1: a signal ended it, or the time was over
    std::string output;
    bool too_slow;
  };
  // Its exit code and its stdout. Killed after so many seconds, with its group.
  Result wait(double seconds);

 private:
  void start(std::vector<std::string> command, const Environment& environment, bool with_stderr);

  int process_ = -1;
  int output_ = -1;
};

// The numbers, separated by blanks, that a part printed within so many seconds. Throws Skipped or std::runtime_error
// where the part did, TooSlow where it was stopped.
std::vector<double> numbers_of(const Child::Result& result, const std::string& what, double seconds);
// Starts one part and waits for it.
std::vector<double> numbers_of_part(const std::vector<std::string>& part, const Environment& environment,
                                    double seconds);
// Time left for the next of several parts: of all their time, and no more than one of them may take.
class TimeForParts {
 public:
  explicit TimeForParts(double seconds);
  bool over() const;
  double for_next() const;

 private:
  int64_t end_;
};

std::string join(const std::vector<double>& numbers);

// Kills those that still run. Any thread.
void end_children();

}  // namespace probe
