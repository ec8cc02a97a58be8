// Which calls of the training are to be looked at, so that each slot gets the call site of one of its groups.
//
// Used by the dispatcher thread of a device. Pure: it hears of bubbles and of issued groups, and says numbers of groups
// that are still to come. A slot's next group is guessed: as far behind the latest one as that is behind the one
// before. A wrong guess costs a look at another call, and another try.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "detector/bubble.h"

namespace weft {

class SiteWishes {
 public:
  static constexpr std::size_t most_sites = 256;   // of a device, in a run
  static constexpr std::uint32_t most_tries = 32;  // of a slot

  // A bubble waited for this group of this slot: the slot is worth a look.
  void bubble(const SlotKey& slot, GroupId group);
  // Each group, in the order of their numbers, with its place as it is known when the group is issued.
  void issued(GroupId group, const SlotKey& slot);
  GroupId latest() const { return latest_; }

  // The next groups to be looked at, in rising order, into `groups`; how many. Each counts as a try of its slot.
  std::size_t ask(std::span<GroupId> groups);
  // None of the groups that were asked for is to come any more, as far as issued() has told.
  bool all_have_come() const { return asked_.empty() || asked_.back().group <= latest_; }
  // Those that have not come are not looked at for now: it was no try.
  void withdraw();

  // The call of this group was looked at, and issued() has told of it: its slot, where that had no call site yet, and
  // has one from here on. Nothing: it is of no use.
  std::optional<SlotKey> looked_at(GroupId group);

  std::size_t slots() const { return slots_.size(); }
  std::size_t sites() const { return sites_; }
  bool is_full() const { return sites_ == most_sites; }

 private:
  struct Entry {
    GroupId latest = 0;      // of its groups
    std::uint64_t step = 0;  // from the one before to that; 0: not known
    std::uint32_t tries = 0;
    bool has_site = false;
  };
  struct Asked {
    GroupId group = 0;
    SlotKey guess;
    SlotKey slot;  // as it turned out to be
  };

  GroupId guess(const Entry& entry) const;

  std::map<SlotKey, Entry> slots_;
  std::vector<Asked> asked_;  // by their groups
  GroupId latest_ = 0;
  std::size_t sites_ = 0;
};

}  // namespace weft
