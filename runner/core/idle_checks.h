// The streams that may have work which nobody has seen, while the host waits: asks each until it has run dry, and then
// on, whether it stays so.
//
// Used by the dispatcher thread only. A question orders nothing on the GPU; between two looks anything may happen.
#pragma once

#include <optional>
#include <vector>

#include "detector/event.h"
#include "shim/seam/core_interface.h"

namespace weft {

class IdleChecks {
 public:
  IdleChecks(const ShimServices& shim, int device) : shim_(shim), device_(device) {}

  // Takes an event of a hook. Streams are named before the host wait that they are named for, and asked once that has
  // begun: no answer is earlier, because the detector forgets those that come without a wait. When a host wait is over,
  // nothing asked before it counts any more.
  void note(const Event& event);

  // Asks, and appends an idle_check_reached of this time for each stream that has run dry since the last call. One that
  // was dry and has work again is launched on by a thread that does not wait: another idle_check_issued, and it is not
  // asked again before the next host wait. The writes of a stream before it was dry can be read when this has returned.
  void look(TimePoint time, std::vector<Event>& happened);

 private:
  enum class State : std::uint8_t { asked, dry, runs_again };
  struct Asked {
    Event event;
    State state;
  };

  const ShimServices& shim_;
  const int device_;
  std::optional<TimePoint> begun_;  // the host wait that is under way
  std::vector<Asked> asked_;
};

}  // namespace weft
