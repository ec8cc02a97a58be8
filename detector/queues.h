// Which streams do not share a hardware queue, learned from what they do.
//
// The driver maps streams onto a few queues and tells nobody how. A queue is worked off in order: what stands in it
// behind a stream that waits does not run, whichever stream it belongs to. Two streams are known to be apart once one
// of them was seen to get past the place at which the other one still waited. That a kernel behind a running one of its
// stream holds up its queue is an assumption, so who gets past one is apart from such kernels only, or they hold up
// nobody. Fed by Streams, one thread.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "detector/event.h"

namespace weft {

// Tickets are given out in order; they start again after 2^32.
inline bool is_before(Ticket one, Ticket other) {
  return static_cast<std::int32_t>(one - other) < 0;
}
inline constexpr Ticket comparable = 1U << 30;  // tickets farther apart have no order

// Nothing behind this ticket runs in the hardware queue of the stream, because of this.
enum class HeldBy : std::uint8_t { wait, kernel };
struct HeldPlace {
  Ticket ticket;
  HeldBy by;
  bool operator==(const HeldPlace&) const = default;
};

class Queues {
 public:
  // The one was seen to get past something like this that held up the other.
  bool are_apart(StreamId one, StreamId other, HeldBy by) const;

  // This stream got to something that was enqueued later than `place`, at which `blocked` waits as far as is known:
  // words of one look come in no certain order, so it counts if that still waits after the next look.
  void passed(StreamId stream, StreamId blocked, HeldPlace place);

  // A look is over: all words that were written before it have been told. `still_waits(stream, place)`.
  // Whether two streams may be known to be apart now that were not.
  template <class StillWaits>
  bool looked(StillWaits still_waits) {
    bool noted = false;
    std::erase_if(sightings_, [&](Sighting& sighting) {
      if (!still_waits(sighting.blocked, sighting.place)) return true;
      if (sighting.is_older) note_apart(sighting.stream, sighting.blocked, sighting.place);
      noted = noted || sighting.is_older;
      return std::exchange(sighting.is_older, true);
    });
    return noted;
  }

  void forget(StreamId stream);

 private:
  static constexpr std::size_t most_pairs = 4096;      // of others it is not known: their time stays uncertain
  static constexpr std::size_t most_sightings = 1024;  // within two looks
  static constexpr int enough = 2;                     // a launch may be counted before it is made

  struct Sighting {
    StreamId stream, blocked;
    HeldPlace place;
    bool is_older;  // than the latest look
  };
  // One place counts only once, as the launch behind it may take long to be made.
  struct Seen {
    int times = 0;
    Ticket latest = 0;
  };
  struct Pair {
    StreamId low, high;
    Seen past_waits, past_kernels;
  };

  const Pair* find(StreamId one, StreamId other) const;
  std::vector<Pair>::iterator place_of(StreamId one, StreamId other);
  void note_apart(StreamId one, StreamId other, HeldPlace place);

  std::vector<Sighting> sightings_;
  std::vector<Pair> pairs_;                          // sorted
  mutable std::array<std::uint16_t, 256> places_{};  // where pairs were found last
};

}  // namespace weft
