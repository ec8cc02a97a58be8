// Which clock the times of this process are of: what tells whether those of another process are of the same one.
//
// Called when a trace is opened (clock_pair(): also every 30 s, by the dispatcher thread). Any thread; nothing waits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "detector/time.h"
#include "trace/record.h"

namespace weft {

// The kernel's random id of this boot: processes that have the same one share CLOCK_MONOTONIC, but for the offsets of
// their time namespaces. "": it cannot be read.
std::string boot_id();

// How far CLOCK_MONOTONIC of this process's time namespace is ahead of the kernel's; nothing: it cannot be read. A
// kernel without time namespaces has no offset, and no file that says so.
std::optional<Duration> clock_offset();
// From the text of /proc/self/timens_offsets.
std::optional<Duration> clock_offset_in(std::string_view text);

// The wall clock between two readings of the monotonic one: the narrowest of a few tries.
ClockRecord clock_pair();

}  // namespace weft
