// See variant_choice.h.
#include "runner/model/variant_choice.h"

#include <algorithm>

namespace weft::model {

bool VariantChoice::choose(std::uint64_t free, TimePoint now) {
  if (job_.variants() == 1) {
    reserved_ = job_.memory();
    return reserved_ <= free;
  }
  learn_memory(rule_, free);
  const std::optional<std::size_t> best = rule_.best(free);
  if (best) begin(*best, free, now);
  return best.has_value();
}

bool VariantChoice::change(std::uint64_t free, TimePoint now, Growth growth) {
  const RoomFinding finding = watch_.finding();
  Variants rule = rule_;  // what is found counts at this moment only
  rule.heard(present_, finding, watch_.refused());
  learn_memory(rule, free);
  const std::optional<std::size_t> wanted = rule.change(present_, free, now, growth);
  if (!wanted) return false;
  if (finding == RoomFinding::no_room) no_room_[present_] = why_no_room(name(), watch_.refused());
  why_changed_ = *wanted < present_ ? why_better(job_.variant(*wanted)) : no_room_[present_];
  rule.changed();
  rule_ = rule;
  begin(*wanted, free, now);
  return true;
}

void VariantChoice::learn_memory(Variants& rule, std::uint64_t free) const {
  for (std::size_t variant = 0; variant < job_.variants(); ++variant)
    if (job_.memory(variant) > free) rule.lacked_memory(variant, free);
}

// As in a training, a smaller variant has what the job may have.
void VariantChoice::begin(std::size_t variant, std::uint64_t free, TimePoint now) {
  present_ = variant;
  reserved_ = std::min(job_.most_memory(), free);
  why_ = why_no_better(free);
  rule_.began(now);
  watch_ = RoomWatch(rule_.wish(variant, free));
}

// Of the nearest better one.
std::string VariantChoice::why_no_better(std::uint64_t free) const {
  if (present_ == 0) return "";
  const std::size_t better = present_ - 1;
  if (job_.memory(better) <= free) return no_room_[better];
  return job_.variant(better) + " needs " + std::to_string(job_.memory(better) >> 20) + " MiB, " +
         std::to_string(free >> 20) + " MiB are free";
}

}  // namespace weft::model
