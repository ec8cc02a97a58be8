// How Weft marks the streams of the main job, and which bubbles it may fill: decided by the environment and by what
// `weft check` has found out.
//
// Pure; used by the core at set-up and by the command.
#pragma once

#include <cstdint>

#include "runner/options/fillable.h"
#include "runner/options/variables.h"

namespace weft {

struct Answers;

// CUDA_DEVICE_MAX_CONNECTIONS as the driver takes it. The driver reads it when CUDA starts, Weft at the first
// communicator: a change between the two is not known of.
inline constexpr std::uint32_t most_queues = 32;
std::uint32_t hardware_queues(const Variables& variables);

// How the streams of the main job say how far they have come: by stream-ordered writes; by events that are recorded; or
// not at all, and then no bubble can be measured.
//
// Streams share hardware queues where there are more of them, as PyTorch's pools have. Nothing public says whether a
// write behind a running kernel holds the queue until that is over. If it does, a receive that is marked so holds up
// another stream's send in the same queue, for which the other rank waits: a dead-lock that the program did not have.
// An event does not hold it, or every training with PyTorch would wait for itself: its process group records one behind
// each kernel of NCCL. So marks are events unless the machine has been asked, with one queue (weft check). With
// blocking launches the host waits in every call, and idle time has none of the patterns that bubbles are known by.
enum class Marks : std::uint8_t { writes, events, none };

struct Marking {
  Marks marks = Marks::events;
  bool one_queue = false;    // perhaps all streams share one
  const char* because = "";  // it is one, or nothing is marked; a string literal
  Fillable fillable = Fillable::any;
  const char* unfillable = "";  // why nothing is; a string literal
  FillStream stream = FillStream::plain;
  Fillable fillable_in_plain = Fillable::any;  // where no other stream can be made; and why nothing then
  const char* unfillable_in_plain = "";
  const char* unheeded = "";  // why the user's wish is not obeyed; a string literal
};

// A process may have changed a variable since it began, before CUDA read it or after: either value counts. `answers` of
// weft check with one queue decide where there are any; nullptr: nobody has asked. Where work is to be filled in,
// events may be preferred to writes: a write behind a wait is not asked about.
enum class Purpose : std::uint8_t { observe, fill };
Marking marking_for(const Environments& environments, const Answers* answers = nullptr,
                    Purpose purpose = Purpose::observe, OneQueue wish = OneQueue::keep);

// Which bubbles these answers let be filled with one queue, and in which stream; `marking` keeps its marks.
void decide_fillable(const Answers& answers, OneQueue wish, Marking& marking);
// No stream with a queue of its own can be made.
void fall_back_to_plain_stream(Marking& marking);

}  // namespace weft
