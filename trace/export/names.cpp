// Peers by the rank of the run where the communicator tells it; see the header.
#include "trace/export/names.h"

#include <map>
#include <memory>

#include "trace/formatted.h"
#include "trace/names/group_names.h"
#include "trace/names/slot_names.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return formatted("%llu bytes", number(bytes));
  if (bytes < 1024 * 1024) return formatted("%.3g KiB", static_cast<double>(bytes) / 1024);
  if (bytes < 1024 * 1024 * 1024) return formatted("%.3g MiB", static_cast<double>(bytes) / 1048576);
  return formatted("%.3g GiB", static_cast<double>(bytes) / 1073741824);
}

class PlainNames {
 public:
  explicit PlainNames(const ExportedRun& run) : run_(run) {}

  std::string rank(const ExportedRank& rank) const {
    return "rank " + rank.name + " · " + printable(rank.header.host) + " · GPU " + std::to_string(rank.header.device);
  }

  std::string bubble(const ExportedRank& rank, const Bubble& bubble) const {
    const Slot& slot = bubble.slot;
    const std::string cause = name_of(bubble.cause);
    if (bubble.cause == Cause::schedule) {
      const std::string name = cause + ", as the training said";
      return slot.ordinal < 0 ? name : name + ", bubble " + std::to_string(slot.ordinal) + " of the iteration";
    }
    const std::string with = peers(rank, slot);
    const bool only_beside = bubble.cause == Cause::host && !with.empty();
    const std::string name = only_beside ? cause + ", while a group" + with + " was under way" : cause + with;
    return slot.ordinal < 0 ? name : name + ", slot " + std::to_string(slot.ordinal);
  }

  std::string operation(const ExportedRank& rank, const OperationRecord& operation, CommunicatorId communicator) const {
    std::string name = names::text_of(operation.kind);
    name += " of " + bytes_text(operation.bytes);
    if (operation.peer < 0) return name;
    const bool receives = operation.kind == Operation::receive || operation.kind == Operation::wait_signals;
    const bool sends = operation.kind == Operation::send || operation.kind == Operation::put;
    return name + (receives ? " from " : sends ? " to " : ", root ") + peer(rank, communicator, operation.peer);
  }

  // Of many operations the first two.
  std::string group(const ExportedRank& rank, const GroupRecord& group) const {
    constexpr std::size_t most = 2;
    std::string name;
    std::size_t shown = 0;
    for (const OperationRecord& one : group.operations) {
      if (shown == most) break;
      name += (shown++ == 0 ? "" : ", ") + operation(rank, one, group.communicator);
    }
    const std::uint64_t more = group.operations.size() - shown + group.left_out;
    if (shown == 0) return "group of " + std::to_string(more) + " operations";
    return more == 0 ? name : name + " and " + std::to_string(more) + " more";
  }

  std::string communicator(const ExportedRank& rank, CommunicatorId number) const {
    std::string name = "communicator " + std::to_string(number);
    const auto found = rank.communicators.find(number);
    if (found == rank.communicators.end()) return name;
    const CommunicatorRecord& known = found->second;
    if (!known.name.empty()) name += " " + printable(known.name);
    return name + formatted(" (rank %d of %d)", known.rank, known.ranks);
  }

 private:
  // " from rank 1 with a send to rank 2"
  std::string peers(const ExportedRank& rank, const Slot& slot) const {
    std::string text;
    if (slot.receive_peer >= 0) text += " from " + peer(rank, slot.communicator, slot.receive_peer);
    if (slot.send_peer >= 0)
      text += (text.empty() ? " to " : " with a send to ") + peer(rank, slot.communicator, slot.send_peer);
    return text;
  }

  // A number in a communicator that nobody can place must not look like a rank.
  std::string peer(const ExportedRank& rank, CommunicatorId number, std::int32_t place) const {
    const auto communicator = rank.communicators.find(number);
    if (communicator != rank.communicators.end())
      if (const auto index = run_.members.member(communicator->second, place))
        return "rank " + run_.traces[*index].name;
    return formatted("%d of communicator %u", place, static_cast<unsigned>(number));
  }

  const ExportedRun& run_;
};

// Of one rank after the other: what its slots are called is found once. Memory is that of its SlotPlaces.
class SlotNames {
 public:
  explicit SlotNames(const ExportedRun& run) : run_(run) {}

  // nullptr: it has no better name.
  const std::string* find(std::size_t trace, const Bubble& bubble) {
    const bool waits_for_group =
        bubble.cause == Cause::receive || bubble.cause == Cause::send || bubble.cause == Cause::collective;
    const SlotPlaces& places = *run_.places[trace];
    const SlotUse* const use = waits_for_group ? places.use_of(bubble.slot, bubble.cause) : nullptr;
    if (use == nullptr || !use->is_placed()) return nullptr;
    if (trace != trace_) names_.clear();
    trace_ = trace;
    const auto [name, is_new] = names_.try_emplace(use);
    if (is_new) {
      SlotTotals totals;
      totals.slot = bubble.slot;
      totals.cause = bubble.cause;
      name->second = name_of_slot(*run_.names, trace, places, totals, true).text;
    }
    return &name->second;
  }

 private:
  const ExportedRun& run_;
  std::size_t trace_ = 0;
  std::map<const SlotUse*, std::string> names_;
};

}  // namespace

EventNames event_names(const ExportedRun& run) {
  EventNames names = plain_names(run);
  names.rank = [&run, plain = names.rank](const ExportedRank& rank) {
    const std::optional<StageOfRank> stage = run.names->stage(rank.trace);
    return plain(rank) + (stage ? formatted(" · stage %d of %d", stage->stage, stage->stages) : "");
  };
  names.bubble = [slots = std::make_shared<SlotNames>(run), plain = names.bubble](const ExportedRank& rank,
                                                                                  const Bubble& bubble) {
    const std::string* const name = slots->find(rank.trace, bubble);
    return name == nullptr ? plain(rank, bubble) : *name;
  };
  return names;
}

EventNames plain_names(const ExportedRun& run) {
  const PlainNames names(run);
  return {
      [names](const ExportedRank& rank) { return names.rank(rank); },
      [names](const ExportedRank& rank, const Bubble& bubble) { return names.bubble(rank, bubble); },
      [names](const ExportedRank& rank, const GroupRecord& group) { return names.group(rank, group); },
      [names](const ExportedRank& rank, const OperationRecord& operation, CommunicatorId communicator) {
        return names.operation(rank, operation, communicator);
      },
      [names](const ExportedRank& rank, CommunicatorId number) { return names.communicator(rank, number); },
  };
}

}  // namespace weft
