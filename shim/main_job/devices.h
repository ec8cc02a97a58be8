// Devices of the process: which one a call is about.
//
// Any thread, in hooks: one word, no lock. Most processes use one device, and then nothing has to be asked.
#pragma once

namespace weft {

inline constexpr int most_devices = 64;
inline constexpr int no_device = -1;

// A device is in use from now on.
void note_device(int device) noexcept;
bool several_devices() noexcept;

// The main job has made a context beside the primary ones, or destroyed it: a default stream of its own goes with that.
void note_context_made() noexcept;
void note_context_destroyed() noexcept;
bool has_other_contexts() noexcept;
// One name stands for several default streams.
bool several_default_streams() noexcept;

// The device of the calling thread's current context, no_device: none. Asks the driver only when several devices are in
// use.
int current_device() noexcept;
// Asks the driver always.
int ask_current_device() noexcept;

}  // namespace weft
