// Hands the events of the process's one ring to the dispatchers of its devices.
//
// take() is called by dispatcher threads; whoever comes first empties the ring and leaves to the others what is
// theirs. They take the lock, and so does a thread of the main job that asks for the summary inside the core's
// services; the hooks, which push the events, never do.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "detector/event.h"
#include "shim/seam/core_interface.h"

namespace weft {

class EventRouter {
 public:
  explicit EventRouter(EventRing& ring) : ring_(ring) {}

  // From now on the device gets captures too, which are the process's. Its dispatcher comes later.
  void add(int device);
  // Appends what has happened on the device since the last call, in the order of the ring. Only so many events are kept
  // while no dispatcher takes them.
  void take(int device, std::vector<Event>& events);
  std::uint64_t lost() const;
  // A device that nobody observes and that annotations name, once in a process. It may be observed later.
  std::optional<int> unobserved();

 private:
  static constexpr std::size_t most_kept = 65536;
  void route(const Event& event);
  void keep(std::vector<Event>& inbox, const Event& event);

  EventRing& ring_;
  mutable std::mutex mutex_;
  std::map<int, std::vector<Event>> inboxes_;
  std::set<int> said_to_nobody_;  // devices that annotations name
  bool unobserved_was_told_ = false;
  std::uint64_t lost_ = 0;
};

}  // namespace weft
