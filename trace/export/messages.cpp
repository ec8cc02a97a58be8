// Found by hashes of what both sides know; see the header.
#include "trace/export/messages.h"

#include <algorithm>
#include <string_view>

namespace weft {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t part) {
  hash = (hash ^ part) * 0x9e3779b97f4a7c15;
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93;
  return hash ^ hash >> 32;
}

// Never 0.
std::uint64_t message_of(std::uint64_t communicator, std::int32_t from, std::int32_t to, std::uint64_t sequence) {
  const auto bits = [](std::int32_t rank) { return std::uint64_t{static_cast<std::uint32_t>(rank)}; };
  // Identities need not be spread evenly.
  return std::max<std::uint64_t>(mixed(mixed(mixed(1, communicator), bits(from) << 32 | bits(to)), sequence), 1);
}

}  // namespace

class SendReader : public RecordTaker {
 public:
  SendReader(const ExportedRank& rank, std::uint32_t index, SendBegins& begins)
      : rank_(rank), index_(index), begins_(begins) {}

  bool wants(std::string_view line) const override { return is_line_of(line, "group"); }
  void take(const Record& record) override {
    if (record.kind != RecordKind::group || !record.group.begun_known) return;
    const GroupRecord& group = record.group;
    for (const std::uint64_t message : messages_of(rank_, group).sent)
      begins_.add({message, {group.begun, group.begun_within, index_}});
  }

 private:
  const ExportedRank& rank_;
  std::uint32_t index_;
  SendBegins& begins_;
};

GroupMessages messages_of(const ExportedRank& rank, const GroupRecord& group) {
  GroupMessages messages;
  const auto found = rank.communicators.find(group.communicator);
  if (found == rank.communicators.end() || found->second.id == 0) return messages;
  const CommunicatorRecord& communicator = found->second;
  for (const OperationRecord& operation : group.operations) {
    if (operation.sequence == 0) continue;
    if (operation.kind == Operation::send)
      messages.sent.push_back(message_of(communicator.id, communicator.rank, operation.peer, operation.sequence));
    if (operation.kind == Operation::receive)
      messages.received.push_back(message_of(communicator.id, operation.peer, communicator.rank, operation.sequence));
  }
  return messages;
}

void SendBegins::add(const Entry& begin) {
  constexpr unsigned most_exponent = 48;
  if (is_kept(begin.first)) begins_.push_back(begin);
  while (begins_.size() > most_ && exponent_ < most_exponent) {
    ++exponent_;
    std::erase_if(begins_, [this](const Entry& entry) { return !is_kept(entry.first); });
  }
}

void SendBegins::read(const ExportedRun& run, ReadProgress* progress) {
  if (progress != nullptr) progress->begin("looking for messages", run.bytes());
  for (std::size_t index = 0; index < run.ranks.size(); ++index) {
    SendReader reader(run.ranks[index], static_cast<std::uint32_t>(index), *this);
    if (run.ranks[index].groups() > 0) read_rank(run.ranks[index], reader, progress);
  }
  std::ranges::sort(begins_, {}, &Entry::first);
}

std::optional<SendBegins::Begin> SendBegins::find(std::uint64_t message) const {
  const auto found = std::ranges::lower_bound(begins_, message, {}, &Entry::first);
  if (found == begins_.end() || found->first != message) return std::nullopt;
  return found->second;
}

}  // namespace weft
