// Which groups the bubbles of each slot waited for: the places of these in their iterations, from which names come.
//
// A sink for the lines of one trace; used by `weft summary`, in the weft command and in tests only. Memory does not
// grow with the trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/names/rank_iterations.h"
#include "trace/read/reader.h"

namespace weft {

// All bubbles of a slot and cause, as in SlotTotals.
struct SlotUse {
  std::set<names::GroupPlace> places;
  std::set<std::uint64_t> placed, unplaced;  // rhythms of bubbles whose group is among these, and is not
  std::optional<Said> said;                  // of all of them; nothing: they differ
  // Bubbles of a rhythm are of the same place in it, also those of an iteration that lacks groups.
  bool is_placed() const;
};

class SlotPlaces : public TraceSink, public names::RankIterations::Watcher {
 public:
  SlotPlaces() : iterations_(this) {}
  SlotPlaces(const SlotPlaces&) = delete;
  SlotPlaces& operator=(const SlotPlaces&) = delete;

  bool wants(std::string_view line) const override;
  void header(const TraceHeader& header, const TraceLine& line) override;
  void record(const Record& record, const TraceLine& line) override;
  void summary(const TraceSummary&, const TraceLine&) override {}
  // After the last line.
  void finish();

  void placed(std::uint64_t iteration, const names::IssuedGroup& group, names::GroupPlace place) override;

  const names::RankIterations& iterations() const { return iterations_; }
  // nullptr: it has no such bubble, or there are more slots than are kept.
  const SlotUse* use_of(const Slot& slot, Cause cause) const;

 private:
  static constexpr std::size_t most_slots = 4096;
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::uint64_t, Cause>;
  struct Waiting {
    GroupId group = 0;
    std::uint64_t rhythm = 0;
    SlotUse* use = nullptr;
  };

  void take(const Bubble& bubble);
  void wait_for(const Bubble& bubble, SlotUse& use);
  void give_up_before(std::uint64_t iteration);

  names::RankIterations iterations_;
  std::optional<std::pair<std::int64_t, std::int64_t>> process_;
  std::map<Key, SlotUse> slots_;
  std::map<std::uint64_t, std::vector<Waiting>> waiting_;  // bubbles, by iterations that were not looked at yet
};

}  // namespace weft
