// See phases.h.
#include "detector/phases.h"

#include "detector/bounds.h"

namespace weft {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0xbf58476d1ce4e5b9;
  return hash ^ (hash >> 29);
}

}  // namespace

void Phases::begin_iteration() {
  ++iteration_;
  latest_ = before_ = before_that_ = 0;
  again_ = false;
}

PhaseSlot Phases::next(std::uint64_t shape) {
  const std::uint64_t key = what_came_before(shape);
  auto found = phases_.find(key);
  if (found == phases_.end()) {
    if (static_cast<std::size_t>(ordinals_) >= most_) return {};
    found = phases_.emplace(key, Phase{}).first;
  }
  Phase& phase = found->second;
  if (phase.iteration != iteration_) phase.count = 0;
  phase.iteration = iteration_;
  const std::size_t place = phase.count++;
  if (place >= phase.ordinals.size()) {
    if (place > phase.ordinals.size() || static_cast<std::size_t>(ordinals_) >= most_) return {};
    phase.ordinals.push_back(ordinals_++);
  }
  return {phase.ordinals[place], place == 0 ? -1 : phase.ordinals[place - 1]};
}

// Rows of one shape count as one, as there may be any number of them; but the first of a row is another phase than the
// rest. A collective leaves no trace: the phases of the transfers are those of a pipeline without it.
std::uint64_t Phases::what_came_before(std::uint64_t shape) {
  if (!is_collective(shape)) {
    again_ = shape == latest_;
    if (!again_) {
      before_that_ = before_;
      before_ = latest_;
      latest_ = shape;
    }
  }
  const std::uint64_t key = mixed(mixed(mixed(latest_ + 1, before_), before_that_), again_ ? 1 : 0);
  return is_collective(shape) ? mixed(key, shape) : key;
}

}  // namespace weft
