// The clock of this process's events, and whether the counter can stand for it; see event_clock.h.
#include "shim/event_clock.h"

#include <fcntl.h>
#include <unistd.h>

namespace weft {

constinit EventClock<MachineTime> event_clock{};

bool kernel_trusts_counter() noexcept {
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char name[4] = {};
  const bool read_all = read(file, name, sizeof(name)) == sizeof(name);
  close(file);
  return read_all && name[0] == 't' && name[1] == 's' && name[2] == 'c' && name[3] == '\n';
}

}  // namespace weft
