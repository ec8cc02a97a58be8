// Says what the simulator starts with when no variable is set, and writes the head of its log into the folder that is
// named. Built and run by ../built_test.py.
#include <cstdio>

#include "engine/settings.h"
#include "engine/truth_log.h"

int main(int, char** argv) {
  const simgpu::Settings settings = simgpu::read_settings();
  std::printf(R"({"launch_latency": %lld, "dependency_gap": %lld, "flops": %g})",
              static_cast<long long>(settings.launch_latency.count()),
              static_cast<long long>(settings.dependency_gap.count()), settings.flops);
  simgpu::TruthLog log;
  log.open(argv[1], 0, settings.multiprocessors);
  log.write(log.take());
  return 0;
}
