// A probe without a GPU that does what HARNESS says: hangs, stalls in its question, fails, ... For harness_test.py,
// which holds what all probes share (support/report.h, support/children.h) against its promises.
//
// Main thread only; the watchdog's time is short here.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "children.h"
#include "driver.h"
#include "gpu.h"
#include "report.h"

namespace probe {
namespace {

[[noreturn]] void hang() {
  for (;;) sleep_milliseconds(100);
}

std::vector<double> ask_part(const char* name) {
  return numbers_of_part({"a", "b"}, {{"GIVEN", "7"}, {"HARNESS", name}}, 5);
}

std::string measure(const Options& options, Report& report) {
  const std::string what = std::getenv("HARNESS");
  report.add("number", 0.1);
  report.add("count", 0);
  report.add("count", 1 << 20);
  report.add("yes", true);
  report.add("none", std::numeric_limits<double>::quiet_NaN());
  report.add("list", std::vector<double>{1, 2.5});
  if (!options.part.empty()) {
    if (what == "failing part") throw std::runtime_error("the part says why");
    if (what == "skipping part") throw Skipped("the part cannot");
    if (what == "hanging part") hang();
    if (what == "crashing part") std::abort();
    if (what == "noisy part") std::puts("WARN: 1 2 3");
    return join({1.5, static_cast<double>(options.part.size()), std::atof(std::getenv("GIVEN"))});
  }
  if (what == "fails") throw std::runtime_error("this went wrong");
  if (what == "skips") throw Skipped("there is \"no\" such thing");
  if (what == "hangs") hang();
  if (what == "stalls") {
    ask_at_risk("the question");
    hang();
  }
  if (what == "leaves a child") {
    const Child child({"sh", "-c", "echo $$; exec sleep 60"}, {}, false);
    hang();
  }
  if (what.starts_with("one of several")) {
    answered(report, "bad", [&] { ask_part(what.ends_with("skips") ? "skipping part" : "failing part"); });
    answered(report, "good", [&] { report.add("good", ask_part("part")); });
  }
  if (what.ends_with("part")) {
    report.add("part", numbers_of_part({"a", "b"}, {{"GIVEN", "7"}}, 0.5));
  }
  return "a \"fact\" with a \\ and a\nline break";
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "harness", probe::measure, std::chrono::milliseconds(1500));
}
