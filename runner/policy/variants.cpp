// See variants.h.
#include "runner/policy/variants.h"

#include <algorithm>

#include "detector/dcheck.h"

namespace weft {

std::optional<std::size_t> Variants::first_from(std::size_t from, std::uint64_t memory) const {
  std::optional<std::size_t> last;
  for (std::size_t variant = from; variant < count_; ++variant) {
    if (!may_fit(variant, memory)) continue;
    if (!is_refused(variant)) return variant;
    last = variant;
  }
  return last;
}

std::optional<std::size_t> Variants::change(std::size_t present, std::uint64_t memory, TimePoint now,
                                            Growth growth) const {
  const bool may_grow =
      growth == Growth::allowed && !is_refused(present) && changes_ + 1 < most_changes && now - began_ >= settled_after;
  const std::optional<std::size_t> wanted = first_from(may_grow ? 0 : present, memory);
  if (!wanted || *wanted == present || !may_change()) return std::nullopt;
  // That there is less memory than when it began takes nothing away from it.
  if (*wanted > present && !is_refused(present)) return std::nullopt;
  return wanted;
}

bool Variants::has_smaller(std::size_t present, std::uint64_t memory) const {
  for (std::size_t variant = present + 1; variant < count_; ++variant)
    if (may_fit(variant, memory)) return true;
  return false;
}

void Variants::lacked_memory(std::size_t variant, std::uint64_t memory) {
  WEFT_DCHECK(variant < count_);
  for (std::size_t better = 0; better <= variant; ++better)
    states_[better].too_small = std::max(states_[better].too_small, memory);
}

void Variants::had_no_room(std::size_t variant, Duration slice) {
  WEFT_DCHECK(variant < count_ && slice > Duration{});
  states_[variant].refused_slice = slice;
}

std::string why_no_room(const std::string& variant, Duration slice) {
  return "no bubble of " + std::to_string(Variants::many_iterations) + " iterations had room for " + variant +
         ", whose next slice takes " + std::to_string(slice.count() / 1000) + " us";
}

std::string why_better(const std::string& better) {
  return "there may be room for " + better;
}

RoomWish Variants::wish(std::size_t present, std::uint64_t memory) const {
  RoomWish wish;
  if (!may_change()) return wish;
  wish.iterations = many_iterations;
  wish.has_smaller = has_smaller(present, memory);
  if (const std::optional<Refused> better = refused_before(present)) wish.better = better->length;
  return wish;
}

void Variants::heard(std::size_t present, RoomFinding finding, Duration refused) {
  if (finding == RoomFinding::no_room) had_no_room(present, refused);
  if (finding != RoomFinding::room_for_better) return;
  const std::optional<Refused> better = refused_before(present);
  if (!better) return;
  have_room(better->variant);
  if (states_[present].refused_slice <= better->length) have_room(present);
}

std::optional<Variants::Refused> Variants::refused_before(std::size_t present) const {
  for (std::size_t variant = present; variant-- > 0;) {
    const State& state = states_[variant];
    if (!state.cannot_run && is_refused(variant))
      return Refused{variant, state.refused_slice + state.refused_slice / 4};
  }
  return std::nullopt;
}

}  // namespace weft
