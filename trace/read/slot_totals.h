// The bubbles of one trace by their slots: how many, how long, how long each usually is. Memory is bounded.
//
// Used by file_totals.cpp, in the weft command only. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "detector/bubble.h"
#include "trace/read/call_site.h"
#include "trace/sample.h"

namespace weft {

// All bubbles of one slot and cause.
struct SlotTotals {
  Slot slot{};  // of the first of them
  Cause cause = Cause::unknown;
  Said said{};  // of the first of them
  std::uint64_t bubbles = 0;
  Duration idle{}, median{};
  CallSite call_site;  // of the first of its rhythms that has one; empty: none is known
};

class SlotTable {
 public:
  void add(const Bubble& bubble);
  void add(const CallFrameRecord& frame) { sites_.add(frame); }
  std::vector<SlotTotals> totals() const;
  // Where no iteration was found: a slot's place in one means nothing then, and there is one before it was known as
  // well.
  std::vector<SlotTotals> totals_without_places() const;
  std::uint64_t bubbles_without_slot() const { return without_slot_; }

 private:
  static constexpr std::size_t most_slots = 4096;  // a trace of Weft stays far below
  static constexpr std::size_t most_values_of_slot = 4096;
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::uint64_t, Cause>;
  static constexpr std::size_t most_rhythms_of_slot = 4;
  struct Entry {
    SlotTotals totals;
    std::vector<std::uint64_t> rhythms;  // of its bubbles, the first ones
    Sample<Duration> lengths{most_values_of_slot};
  };

  static void note_rhythm(Entry& entry, std::uint64_t rhythm);
  SlotTotals finished(const Entry& entry) const;

  std::map<Key, Entry> slots_;
  CallSiteTable sites_;
  std::uint64_t without_slot_ = 0;
};

}  // namespace weft
