// Launches on default streams that Weft's thread cannot ask: another thread's own, or one of another context than that
// of the marker words. While there may be some left, not all streams can be asked.
//
// Hooks of launches and of synchronisation, any thread, no lock. A thread registers once, and again after the host has
// waited for the device. A thread's own stream that has markers is known by those and not registered.
#pragma once

#include <cstdint>

namespace weft {

// Out of line: the way of a launch has no locked instruction, and a thread that registers needs one.
// About to be made, on the calling thread's own stream.
[[gnu::noinline]] void note_unasked_launch(int device) noexcept;
// Nothing that is seen says when it is over.
[[gnu::noinline, gnu::cold]] void note_unasked_launch_for_good(int device) noexcept;
bool may_have_unasked_launches(int device) noexcept;

// The calling thread's own stream has a marker from now on, or the host has waited for it.
void own_launches_are_known() noexcept;

// Around a wait of the host for the device: how many had registered before. They count until it has succeeded.
std::uint32_t unasked_launches_before_wait(int device) noexcept;
void unasked_launches_waited_for(int device, std::uint32_t registered, bool succeeded) noexcept;

}  // namespace weft
