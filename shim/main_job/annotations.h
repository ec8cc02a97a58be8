// Annotations of the main job: of which device they are, and the stage, which is mostly said before anybody listens.
//
// Any thread, in weft_say_v1(); say_stage_again() where a communicator was opened. Words only, no lock. A child of
// fork() has the stages that were said before it, as it has every variable of its parent.
#pragma once

#include "detector/event.h"

namespace weft {

// `device` if it is one, else that of the calling thread's context; no_device: it has none, so all devices are meant.
int annotated_device(std::int32_t device) noexcept;
Saying saying_of(std::int64_t number, std::int64_t part) noexcept;

// The latest one stays.
void keep_stage(int device, const Saying& stage) noexcept;
// To the core, which has come to know the device.
void say_stage_again(int device) noexcept;

}  // namespace weft
