// See slot_places.h.
#include "trace/names/slot_places.h"

#include <algorithm>
#include <limits>

namespace weft {

bool SlotUse::is_placed() const {
  return !places.empty() && std::ranges::includes(placed, unplaced);
}

bool SlotPlaces::wants(std::string_view line) const {
  for (const std::string_view type : {"group", "bubble", "iteration", "communicator", "header"})
    if (is_line_of(line, type)) return true;
  return false;
}

// A file may begin with the lines of an earlier process, which do not count.
void SlotPlaces::header(const TraceHeader& header, const TraceLine&) {
  const std::pair process(header.process, header.start_id);
  if (process_ && *process_ != process) {
    iterations_.forget();
    slots_.clear();
    waiting_.clear();
  } else {
    finish();
  }
  process_ = process;
}

void SlotPlaces::record(const Record& record, const TraceLine& line) {
  if (!line.sound()) return;
  if (record.kind == RecordKind::bubble) take(record.bubble);
  iterations_.take(record);
  // An iteration is looked at when the second one behind it is over, so what still waits then will not be placed.
  if (record.kind == RecordKind::iteration && record.iteration.number > 2) give_up_before(record.iteration.number - 1);
}

void SlotPlaces::finish() {
  iterations_.finish();
  give_up_before(std::numeric_limits<std::uint64_t>::max());
}

void SlotPlaces::take(const Bubble& bubble) {
  const Slot& slot = bubble.slot;
  const Key key{slot.ordinal, slot.send_peer, slot.receive_peer, slot.bytes, bubble.cause};
  if (slots_.size() >= most_slots && !slots_.contains(key)) return;
  const auto [entry, is_first] = slots_.try_emplace(key);
  SlotUse& use = entry->second;
  const auto differs = [](const Said& one, const Said& other) {
    return std::tuple(one.stage, one.chunk, one.microbatch) != std::tuple(other.stage, other.chunk, other.microbatch);
  };
  if (is_first)
    use.said = bubble.said;
  else if (use.said && differs(*use.said, bubble.said))
    use.said.reset();
  if (bubble.iteration == 0) return;  // the slot was found a moment before iterations were sure
  if (bubble.group == 0)
    use.unplaced.insert(bubble.rhythm);
  else
    wait_for(bubble, use);
}

void SlotPlaces::wait_for(const Bubble& bubble, SlotUse& use) {
  std::vector<Waiting>& waiting = waiting_[bubble.iteration];
  if (waiting.size() == names::RankIterations::most_groups)
    use.unplaced.insert(bubble.rhythm);
  else
    waiting.push_back({bubble.group, bubble.rhythm, &use});
  if (waiting_.size() > names::RankIterations::most_pending) give_up_before(waiting_.begin()->first + 1);
}

void SlotPlaces::placed(std::uint64_t iteration, const names::IssuedGroup& group, names::GroupPlace place) {
  const auto waiting = waiting_.find(iteration);
  if (waiting == waiting_.end()) return;
  std::erase_if(waiting->second, [&](const Waiting& bubble) {
    if (bubble.group != group.id) return false;
    bubble.use->places.insert(place);
    bubble.use->placed.insert(bubble.rhythm);
    return true;
  });
}

void SlotPlaces::give_up_before(std::uint64_t iteration) {
  while (!waiting_.empty() && waiting_.begin()->first < iteration) {
    for (const Waiting& bubble : waiting_.begin()->second) bubble.use->unplaced.insert(bubble.rhythm);
    waiting_.erase(waiting_.begin());
  }
}

const SlotUse* SlotPlaces::use_of(const Slot& slot, Cause cause) const {
  const auto found = slots_.find({slot.ordinal, slot.send_peer, slot.receive_peer, slot.bytes, cause});
  return found == slots_.end() ? nullptr : &found->second;
}

}  // namespace weft
