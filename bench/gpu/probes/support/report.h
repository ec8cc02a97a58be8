// The one line of JSON that a probe prints, and the main() that all probes share.
//
// run_probe() is called by each probe's main(). Values may be added by any thread: when the watchdog ends a probe it
// prints those found so far. Nothing else may be written to stdout.
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace probe {

struct Options {
  bool quick = false;
  std::vector<std::string> part;  // what follows --part: this process is one part of the probe, started by itself
};

// A value that is added again takes the place of the one before.
class Report {
 public:
  void add(std::string_view key, std::string_view text);
  void add(std::string_view key, const char* text) { add(key, std::string_view(text)); }
  void add(std::string_view key, std::same_as<bool> auto value) { add_json(key, value ? "true" : "false"); }
  void add(std::string_view key, std::integral auto value) requires(!std::same_as<decltype(value), bool>) {
    add_json(key, std::to_string(value));
  }
  void add(std::string_view key, double number);
  void add(std::string_view key, const std::vector<double>& numbers);
  void add(std::string_view key, const std::vector<std::string>& texts);

  // {"probe":...,"device":...,"simulated":...,"fact":...,"values":{...}}
  std::string line(std::string_view probe, std::string_view fact) const;

 private:
  void add_json(std::string_view key, std::string json);

  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> values_;
};

// Asks one of several questions; when it fails the reason is added as <key>_error, and the others still count. False
// then. Skipped (the question cannot be asked here) goes on to the caller.
bool answered(Report& report, const std::string& key, const std::function<void()>& ask);

// Text as a JSON string; a number with what a reader can use of it; a sentence's printf.
std::string quoted(std::string_view text);
std::string number(double value);
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// Runs the probe under the watchdog, prints its line, and returns the exit code: 0 answered, 77 cannot be answered
// here, 1 failed. `measure` fills the report and returns the fact. A part prints what `measure` returns, and nothing
// else.
using Measure = std::function<std::string(const Options&, Report&)>;
inline constexpr std::chrono::milliseconds longest_probe{19'000};
int run_probe(int argc, char** argv, const char* name, const Measure& measure,
              std::chrono::milliseconds limit = longest_probe);

// From here on a hang is an answer ("stalls in <question>", exit code 0) and not a failure of the probe; null ends
// that. The text must live for ever.
void ask_at_risk(const char* question);

}  // namespace probe
