// Whether the time-stamp counter of this machine can stand for the clock; see arrival_clock.h. Asked once, when the
// engine is made.
#include "engine/arrival_clock.h"

#include <fstream>
#include <string>

namespace simgpu {

bool MachineCounter::reliable() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return file >> name && name == "tsc";
}

}  // namespace simgpu
