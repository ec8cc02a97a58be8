// Which bubbles may be filled, and in which stream, by what the machine has answered. Decided in marking.cpp, at set-up
// or after the trial of a fill job; obeyed by the Session, the filler and whoever makes the stream. Plain values, pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

// The stream of the fill work: one of the lowest priority beside those of the training; with one hardware queue perhaps
// one with a queue of its own: of a green context with a balanced workqueue, or of the highest priority.
enum class FillStream : std::uint8_t { plain, green_context, above };
inline constexpr std::array<std::string_view, 3> fill_stream_names{"plain", "green_context", "above"};
inline std::string_view name_of(FillStream stream) {
  return fill_stream_names[static_cast<std::size_t>(stream)];
}

// The user's wish of what may be done with one hardware queue (WEFT_ONE_QUEUE): the order of the training is kept as it
// is; or fill work may also go before the training, for the length of a slice.
enum class OneQueue : std::uint8_t { keep, above };
inline constexpr std::array<std::string_view, 2> one_queue_names{"keep", "above"};
inline std::string_view name_of(OneQueue wish) {
  return one_queue_names[static_cast<std::size_t>(wish)];
}

// In the only queue a slice waits for what was enqueued before it, and what comes later
// waits for the slice. So there a slice may only be launched where the host waits for the GPU and has enqueued nothing
// to compute, and where the machine has answered that such a slice runs.
enum class Fillable : std::uint8_t {
  any,
  host_waits,        // one queue: the host waits, and nothing but groups and waits of streams is enqueued
  host_waits_alone,  // likewise, and no stream waits
  unasked,           // one queue: the machine has to be asked first
  nothing
};

}  // namespace weft
