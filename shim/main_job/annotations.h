// Annotations of the main job: of which device they are, and the stage, which is mostly said before anybody listens.
//
// Any thread, in weft_say_v1(); say_stage_again() where a communicator was opened. Words only, no lock. A child of
// fork() has the stages that were said before it, as it has every variable of its parent.
#pragma once

#include "detector/event.h"
#include "shim/seam/core_interface.h"

namespace weft {

// `device` if it is one, else that of the calling thread's context; no_device: it has none, so all devices are meant.
int annotated_device(std::int32_t device) noexcept;
// Whether it is the number of a device, or -1. Another one is a mistake of the training, and of no device.
bool can_be_annotated(std::int32_t device) noexcept;
Saying saying_of(std::int64_t number, std::int64_t part) noexcept;

// Into the ring, if the core listens and the job's own events have room behind it; else it is counted.
void say(EventKind kind, int device, const Saying& saying) noexcept;
void refuse_annotation() noexcept;
UnheardAnnotations unheard_annotations() noexcept;

// The latest one stays.
void keep_stage(int device, const Saying& stage) noexcept;
// To the core, which has come to know the device.
void say_stage_again(int device) noexcept;

}  // namespace weft
