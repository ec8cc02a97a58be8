// detector_replay SCRIPT [EXPECTED]: feeds an event script to the detector and prints what it found; with EXPECTED,
// compares instead and exits with 1 when it differs.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "detector/detector.h"
#include "script.h"

namespace {

std::string replay(const std::vector<weft::Event>& events) {
  weft::Detector detector{{.checks_kept = true}};
  std::ostringstream out;
  for (const weft::Event& event : events) {
    for (const weft::Finding& finding : detector.observe(event)) out << weft::testing::describe(finding) << "\n";
  }
  if (detector.open_bubble()) out << "open: bubble " << detector.open_bubble()->id << "\n";
  if (const auto next = detector.next_expected_bubble())
    out << "next bubble " << static_cast<double>(next->time_since_epoch().count()) / 1000.0 << "\n";
  out << "dropped " << detector.dropped() << "\n";
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: detector_replay SCRIPT [EXPECTED]\n");
    return 2;
  }
  std::ifstream script(argv[1]);
  std::string error;
  const std::vector<weft::Event> events = weft::testing::read_script(script, error);
  if (!script.eof() || !error.empty() || events.empty()) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.empty() ? "no events" : error.c_str());
    return 2;
  }
  const std::string found = replay(events);
  if (argc == 2) {
    std::fputs(found.c_str(), stdout);
    return 0;
  }
  std::ifstream file(argv[2]);
  std::ostringstream expected;
  expected << file.rdbuf();
  if (found == expected.str()) return 0;
  std::fprintf(stderr, "expected:\n%s\nfound:\n%s", expected.str().c_str(), found.c_str());
  return 1;
}
