// The markers that main-job streams have yet to write: turns changes of the words into events for the detector.
//
// Used by the dispatcher thread only. Reads memory, and asks events where they are recorded in place of writes. A
// stream gets to its markers in order, so only the oldest of each stream is looked at.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "detector/event.h"
#include "runner/core/marked_events.h"
#include "shim/seam/marker_words.h"

namespace weft {

class MarkerBoard {
 public:
  // `most` markers are remembered; beyond it the oldest of that stream is given up and counted.
  explicit MarkerBoard(const MarkerWords& words, const MarkedEvents& events = {}, std::size_t most = 65536)
      : words_(words), events_(events), most_(most) {}

  // Takes an event of a hook; remembers the markers it announces.
  void note(const Event& event);

  // Appends one event for each marker that has been written since the last call, with the time of the event that
  // announced it. Without `ask` events are not asked: their context is going.
  void look(std::vector<Event>& written, bool ask = true);
  // Markers were lost whose events nobody will ask for again: all events are asked, so that their words become free.
  void look_at_all() const { events_.look_at_all(); }

  std::size_t outstanding() const { return outstanding_; }
  std::size_t groups_pending() const { return groups_pending_; }  // issued, with a marker behind them, and not done
  std::size_t given_up() const { return given_up_; }

 private:
  void remember(const Event& event, Ticket ticket, EventKind kind);
  void forget(std::deque<Event>& queue);
  bool is_reached(Ticket ticket, bool ask) const;

  MarkerWords words_;
  MarkedEvents events_;
  std::size_t most_;
  std::unordered_map<StreamId, std::deque<Event>> streams_;  // what will have happened when the ticket is there
  std::size_t outstanding_ = 0;
  std::size_t groups_pending_ = 0;
  std::size_t given_up_ = 0;
};

}  // namespace weft
