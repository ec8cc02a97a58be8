// See site_wishes.h.
#include "runner/sites/site_wishes.h"

#include <algorithm>

namespace weft {
namespace {

// By so many groups further ahead is a slot's group looked for after each try, up to so many iterations: the host
// issues groups while they are being asked for.
constexpr std::uint64_t ahead_per_try = 4;
constexpr std::uint64_t most_iterations_ahead = 2;

}  // namespace

void SiteWishes::bubble(const SlotKey& slot, GroupId group) {
  if (!slot.is_known() || slots_.contains(slot) || slots_.size() == most_sites) return;
  slots_[slot].latest = group;
}

void SiteWishes::issued(GroupId group, const SlotKey& slot) {
  latest_ = std::max(latest_, group);
  if (!slot.is_known()) return;
  for (Asked& asked : asked_)
    if (asked.group == group) asked.slot = slot;
  const auto found = slots_.find(slot);
  if (found == slots_.end()) return;
  Entry& entry = found->second;
  if (group <= entry.latest) return;
  entry.step = group - entry.latest;
  entry.latest = group;
}

// The first one that is far enough ahead.
GroupId SiteWishes::guess(const Entry& entry) const {
  const GroupId earliest = latest_ + 1 + std::min(ahead_per_try * entry.tries, most_iterations_ahead * entry.step);
  if (earliest <= entry.latest) return entry.latest + entry.step;
  const std::uint64_t steps = (earliest - entry.latest + entry.step - 1) / entry.step;
  return entry.latest + steps * entry.step;
}

std::size_t SiteWishes::ask(std::span<GroupId> groups) {
  asked_.clear();
  for (const auto& [slot, entry] : slots_)
    if (!entry.has_site && entry.step != 0 && entry.tries < most_tries) asked_.push_back({guess(entry), slot, {}});
  std::sort(asked_.begin(), asked_.end(), [](const Asked& a, const Asked& b) { return a.group < b.group; });
  const auto same = [](const Asked& a, const Asked& b) { return a.group == b.group; };
  asked_.erase(std::unique(asked_.begin(), asked_.end(), same), asked_.end());
  const std::size_t most = std::min(groups.size(), most_sites - sites_);
  if (asked_.size() > most) asked_.resize(most);
  for (std::size_t index = 0; index < asked_.size(); ++index) {
    groups[index] = asked_[index].group;
    ++slots_[asked_[index].guess].tries;
  }
  return asked_.size();
}

void SiteWishes::withdraw() {
  for (const Asked& asked : asked_)
    if (asked.group > latest_) --slots_[asked.guess].tries;
  std::erase_if(asked_, [this](const Asked& asked) { return asked.group > latest_; });
}

std::optional<SlotKey> SiteWishes::looked_at(GroupId group) {
  for (const Asked& asked : asked_) {
    if (asked.group != group) continue;
    const auto found = slots_.find(asked.slot);
    if (found == slots_.end() || found->second.has_site) return std::nullopt;
    found->second.has_site = true;
    ++sites_;
    return asked.slot;
  }
  return std::nullopt;
}

}  // namespace weft
