// See job_variants.h.
#include "runner/core/job_variants.h"

#include <algorithm>
#include <utility>

#include "runner/options/quantity.h"

namespace weft {
namespace {

constexpr int most_passing_faults = 3;  // of a job, until one of its variants has become ready

}  // namespace

JobVariants::JobVariants(JobPlan plan)
    : plan_(std::move(plan)), present_(plan_), rule_(std::max<std::size_t>(plan_.variants.size(), 1)) {
  present_.spec = plan_.spec_of(variant_);
}

std::string JobVariants::name() const {
  return exist() ? plan_.variants[variant_] : "";
}

bool JobVariants::may_fit(std::uint64_t memory) const {
  return exist() ? rule_.best(part_of(memory)).has_value() : plan_.memory <= memory;
}

std::string JobVariants::why() const {
  std::string all = failure_;
  for (std::size_t better = variant_; better-- > 0;)
    if (!whys_[better].empty() && whys_[better] != failure_) all += (all.empty() ? "" : "; ") + whys_[better];
  return all;
}

bool JobVariants::choose(std::uint64_t free) {
  if (!may_fit(free)) return false;
  if (!exist()) return true;
  present_.memory = part_of(free);
  variant_ = *rule_.best(present_.memory);
  present_.spec = plan_.spec_of(variant_);
  return true;
}

bool JobVariants::failed(const std::string& fault, Fault kind) {
  if (!exist()) return false;
  if (kind == Fault::passing && ++passing_faults_ <= most_passing_faults) return true;
  if (kind == Fault::lacks_memory) {
    whys_[variant_] = name() + " does not fit in " + mebibytes(present_.memory);
    rule_.lacked_memory(variant_, present_.memory);
  } else {
    whys_[variant_] = name() + " cannot be run: " + fault;
    rule_.cannot_run(variant_);
  }
  failure_ = whys_[variant_];
  return may_fit(plan_.memory);
}

void JobVariants::began(TimePoint now) {
  rule_.began(now);
  failure_.clear();
  passing_faults_ = 0;
  if (!rule_.is_refused(variant_)) whys_[variant_].clear();
}

bool JobVariants::is_to_change(const RoomFound& found, std::uint64_t free, TimePoint now, Growth growth) {
  changed_ = rule_;
  changed_.heard(variant_, found.finding, found.refused);
  const std::optional<std::size_t> wanted = changed_.change(variant_, part_of(free), now, growth);
  if (!wanted) return false;
  next_ = *wanted;
  const bool is_found = found.finding == RoomFinding::no_room;
  why_changed_ = next_ < variant_ ? why_better(plan_.variants[next_])
                 : is_found       ? why_no_room(name(), found.refused)
                                  : whys_[variant_];
  return true;
}

void JobVariants::changes() {
  rule_ = changed_;
  rule_.changed();
  passing_faults_ = 0;
  if (next_ > variant_) whys_[variant_] = why_changed_;
}

}  // namespace weft
