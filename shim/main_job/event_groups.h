// Events of the main job: which group each one stands for.
//
// Any thread, in hooks: a table of fixed size without a lock. An event that finds no room pushes out another one, which
// is counted as lost.
#pragma once

#include "detector/event.h"
#include "shim/routing/vendor.h"

namespace weft {

// The event stands for this group from now on; 0 takes it out.
void map_event(CUevent event, GroupId group) noexcept;
GroupId group_of_event(CUevent event) noexcept;

}  // namespace weft
