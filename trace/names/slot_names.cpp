// See slot_names.h.
#include "trace/names/slot_names.h"

#include <map>
#include <vector>

#include "trace/formatted.h"

namespace weft {
namespace {

// As the training has said it. A training that names another chunk than the first one has no chain of single stages.
bool contradicts(const Said& said, const MessageName& message, const std::optional<StageOfRank>& stage) {
  return said.chunk > 0 && stage && stage->chunks == 1 && message.chunk == 0;
}

// Nothing: they are not the same.
std::optional<SlotName> common_name(const RunNames& names, std::size_t trace, const SlotUse& use, Cause cause) {
  std::optional<SlotName> common;
  std::map<std::uint32_t, std::vector<GroupName>> shapes;
  for (const names::GroupPlace place : use.places) {
    auto known = shapes.find(place.shape);
    if (known == shapes.end()) known = shapes.emplace(place.shape, names.groups(trace, place.shape)).first;
    const GroupName& group = known->second[place.place];
    const OperationName* const awaited = group.awaited(cause);
    if (awaited == nullptr || (common && awaited->text != common->text)) return std::nullopt;
    if (!common) common = SlotName{awaited->text, group.phase, awaited->message};
    if (common->phase != group.phase) common->phase = Phase::unknown;
  }
  return common;
}

}  // namespace

SlotName name_of_slot(const RunNames& names, std::size_t trace, const SlotPlaces& places, const SlotTotals& slot,
                      bool has_iterations) {
  const std::int32_t ordinal = slot.slot.ordinal;
  if (slot.cause == Cause::schedule)
    return {ordinal < 0 ? "pieces of annotated bubbles" : formatted("annotated bubble %d", ordinal), {}, {}};
  const SlotUse* const use = places.use_of(slot.slot, slot.cause);
  if (use != nullptr && use->is_placed()) {
    std::optional<SlotName> name = common_name(names, trace, *use, slot.cause);
    const bool contradicted =
        name && name->message && use->said && contradicts(*use->said, *name->message, names.stage(trace));
    if (name && !contradicted) {
      if (!name->message && use->said && use->said->microbatch >= 0)
        name->text += formatted(", annotated microbatch %lld", static_cast<long long>(use->said->microbatch));
      return *name;
    }
  }
  const std::string text = names.of_slot(trace, slot.slot, slot.cause) + ", ";
  if (!has_iterations) return {text + "in no iteration", {}, {}};
  return {text + (ordinal < 0 ? "before the rhythm was known" : formatted("slot %d", ordinal)), {}, {}};
}

}  // namespace weft
