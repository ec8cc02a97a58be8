// Which process this is, so that another one can tell later whether it is still there: numbers of processes repeat, and
// each container has its own.
//
// Called when a trace is opened, and by `weft top`. Any thread; nothing waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

// Of the numbers of processes, as this one sees them; 0: it cannot be read.
std::uint64_t own_process_namespace();

// When it was started, in ticks since the boot; nothing: there is no such process, it has ended, or that
// cannot be read.
std::optional<std::uint64_t> start_of_process(std::int64_t process);
// From the text of /proc/<process>/stat.
std::optional<std::uint64_t> start_in_stat(std::string_view text);

}  // namespace weft
