// See slot_totals.h.
#include "trace/read/slot_totals.h"

#include <algorithm>

#include "trace/totals.h"

namespace weft {

void SlotTable::add(const Bubble& bubble) {
  const Slot& slot = bubble.slot;
  const Key key{slot.ordinal, slot.send_peer, slot.receive_peer, slot.bytes, bubble.cause};
  if (slots_.size() >= most_slots && !slots_.contains(key)) {
    ++without_slot_;
    return;
  }
  Entry& entry = slots_[key];
  if (entry.totals.bubbles++ == 0) {
    entry.totals.slot = slot;
    entry.totals.cause = bubble.cause;
    entry.totals.said = bubble.said;
  }
  const Duration length = bubble.closed - bubble.opened;
  add_to(entry.totals.idle, length);
  entry.lengths.add(length);
  note_rhythm(entry, bubble.rhythm);
}

void SlotTable::note_rhythm(Entry& entry, std::uint64_t rhythm) {
  std::vector<std::uint64_t>& known = entry.rhythms;
  if (rhythm == 0 || known.size() == most_rhythms_of_slot) return;
  if (std::find(known.begin(), known.end(), rhythm) == known.end()) known.push_back(rhythm);
}

SlotTotals SlotTable::finished(const Entry& entry) const {
  SlotTotals totals = entry.totals;
  totals.median = entry.lengths.median();
  for (const std::uint64_t rhythm : entry.rhythms) {
    const CallSite* const site = sites_.find({rhythm, totals.slot.ordinal}, totals.cause);
    if (site == nullptr) continue;
    totals.call_site = *site;
    break;
  }
  return totals;
}

std::vector<SlotTotals> SlotTable::totals() const {
  std::vector<SlotTotals> all;
  for (const auto& [key, entry] : slots_) all.push_back(finished(entry));
  return all;
}

std::vector<SlotTotals> SlotTable::totals_without_places() const {
  SlotTable together;
  for (const auto& [key, entry] : slots_) {
    Key place = key;
    // The framework has said the places of others.
    if (entry.totals.cause != Cause::schedule) std::get<0>(place) = -1;
    Entry& sum = together.slots_[place];
    if (sum.totals.bubbles == 0) sum.totals = {entry.totals.slot, entry.totals.cause, entry.totals.said, 0, {}, {}, {}};
    sum.totals.slot.ordinal = std::get<0>(place);
    sum.totals.bubbles += entry.totals.bubbles;
    add_to(sum.totals.idle, entry.totals.idle);
    sum.lengths.add(entry.lengths);
  }
  return together.totals();
}

}  // namespace weft
