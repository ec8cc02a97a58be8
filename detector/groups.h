// The groups that are not over yet (and the latest ones that are), by number.
//
// Used by the detector and its parts, one thread. A fixed table: group numbers rise, so a number's place is its low
// bits. A group that is still pending when its place is needed again is forgotten and counted (see displaced_by()).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/bubble.h"
#include "detector/dcheck.h"
#include "detector/event.h"

namespace weft {

struct Group {
  GroupId id = 0;
  StreamId stream = 0;
  bool started = false;
  bool start_known = false;       // its start has a marker
  bool nothing_launched = false;  // between the mark before and its start
  bool done = false;
  Ticket done_ticket = 0;
  bool send_only = false;
  Captured captured = Captured::none;  // not none: nobody knows where in it the stream is
  bool ends_iteration = false;
  Cause cause = Cause::unknown;
  Slot slot{};
  Said said{};
  std::uint64_t position = 0;   // in the sequence of groups
  std::uint64_t iteration = 0;  // 0: not known, see iterations.h
  std::uint64_t turn = 0;       // likewise
  std::uint64_t rhythm = 0;     // likewise, its key
  std::uint32_t table = 0;      // of slots, see slots.h; 0: none
  std::uint32_t bubbles = 0;    // that it was waited for in, and that are over
};

class GroupTable {
 public:
  // `most`: a power of two.
  explicit GroupTable(std::size_t most) : groups_(most), mask_(most - 1) { WEFT_DCHECK(std::has_single_bit(most)); }

  Group* find(GroupId id) {
    Group& group = groups_[id & mask_];
    return id != 0 && group.id == id ? &group : nullptr;
  }
  const Group* find(GroupId id) const { return const_cast<GroupTable*>(this)->find(id); }

  bool pending(GroupId id) const {
    const Group* group = find(id);
    return group != nullptr && !group->done;
  }

  // The pending group that this one's insertion forgets; nullptr: none.
  const Group* displaced_by(GroupId id) const {
    const Group& place = groups_[id & mask_];
    return place.id != 0 && !place.done ? &place : nullptr;
  }

  Group& insert(const Group& group) {
    WEFT_DCHECK(group.id != 0);
    if (displaced_by(group.id) != nullptr) ++forgotten_;
    return groups_[group.id & mask_] = group;
  }

  // Of those that an abort of their communicator ends: nobody knows of which ones the operations in a graph are.
  bool any_pending() const {
    return std::any_of(groups_.begin(), groups_.end(), [](const Group& group) {
      return group.id != 0 && !group.done && group.captured == Captured::none;
    });
  }

  template <typename Function>
  void for_each_pending(Function function) {
    for (Group& group : groups_)
      if (group.id != 0 && !group.done) function(group);
  }

  std::uint64_t forgotten() const { return forgotten_; }

 private:
  std::vector<Group> groups_;
  std::size_t mask_;
  std::uint64_t forgotten_ = 0;
};

}  // namespace weft
