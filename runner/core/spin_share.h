// How much of a core the dispatcher's thread may take for looks without sleep: WEFT_SPIN, unless there is no core for
// it.
//
// Asked when a device is set up, on a thread of the main job inside the core's services. The parsing is pure;
// spin_share() reads /proc and /sys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

// Processors that a group of processes (cgroup) may use: its cpu.max, or quota and period of version 1 with a blank in
// between. Nothing: it has no limit, or the text does not say.
std::optional<double> processors_of_quota(std::string_view text);

// A process that may use less than two processors needs them for its training: never. Nor with "off".
double spin_share(double wanted);

}  // namespace weft
