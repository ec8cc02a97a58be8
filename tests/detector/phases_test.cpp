// Slots of iterations with other numbers of microbatches: the same distance from the beginning, or from the end, is the
// same slot.
#include "detector/phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weft {
namespace {

// Shapes of transfers are even numbers, those of collectives odd ones.
constexpr std::uint64_t receive_forward = 2, send_forward = 4, receive_backward = 6, send_backward = 8;
constexpr std::uint64_t all_reduce = 11, tensor_parallel = 13;

std::vector<std::int32_t> ordinals(Phases& phases, const std::vector<std::uint64_t>& shapes) {
  phases.begin_iteration();
  std::vector<std::int32_t> found;
  for (const std::uint64_t shape : shapes) found.push_back(phases.next(shape).ordinal);
  return found;
}

// A stage in the middle of a pipeline, with transfers that are not fused; `within`: in each forward and backward.
std::vector<std::uint64_t> one_f_one_b(int warm_up, int microbatches, const std::vector<std::uint64_t>& within = {}) {
  std::vector<std::uint64_t> groups;
  const auto task = [&](std::uint64_t in, std::uint64_t out) {
    groups.push_back(in);
    groups.insert(groups.end(), within.begin(), within.end());
    groups.push_back(out);
  };
  for (int i = 0; i < warm_up; ++i) task(receive_forward, send_forward);
  for (int i = warm_up; i < microbatches; ++i) {
    task(receive_forward, send_forward);
    task(receive_backward, send_backward);
  }
  for (int i = 0; i < warm_up; ++i) task(receive_backward, send_backward);
  groups.insert(groups.end(), {all_reduce, all_reduce});
  return groups;
}

TEST(Phases, WarmUpAndCoolDownAreSharedWhateverLiesBetween) {
  for (const std::vector<std::uint64_t>& within : {std::vector<std::uint64_t>{}, {tensor_parallel, tensor_parallel}}) {
    Phases phases(1000);
    const std::size_t task = 2 + within.size();
    const auto eight = ordinals(phases, one_f_one_b(3, 8, within));
    EXPECT_EQ(ordinals(phases, one_f_one_b(3, 8, within)), eight);
    for (const int microbatches : {5, 6, 11}) {
      const auto other = ordinals(phases, one_f_one_b(3, microbatches, within));
      for (std::size_t i = 0; i < 3 * task; ++i) EXPECT_EQ(other[i], eight[i]) << "warm-up " << i;
      for (std::size_t i = 1; i <= 3 * task + 2; ++i)
        EXPECT_EQ(other[other.size() - i], eight[eight.size() - i]) << "cool-down, from the end " << i;
    }
  }
}

TEST(Phases, OneOfThemIsNeverAnother) {
  Phases phases(1000);
  const auto groups = ordinals(phases, one_f_one_b(3, 30));
  std::vector<std::int32_t> sorted = groups;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
}

// A slot that only longer iterations have goes by its neighbour in its own phase.
TEST(Phases, TheNeighbourIsOfTheSamePhase) {
  Phases phases(1000);
  const auto short_one = ordinals(phases, one_f_one_b(3, 6));
  phases.begin_iteration();
  std::size_t i = 0;
  for (const std::uint64_t shape : one_f_one_b(3, 7)) {
    const PhaseSlot slot = phases.next(shape);
    const bool known = std::find(short_one.begin(), short_one.end(), slot.ordinal) != short_one.end();
    if (!known) {
      // The steady state of the short one has three microbatches, from the seventh group on.
      const auto place = std::find(short_one.begin(), short_one.end(), slot.earlier) - short_one.begin();
      EXPECT_GE(place, 6) << i;
      EXPECT_LT(place, 6 + 3 * 4) << i;
    }
    ++i;
  }
}

TEST(Phases, MoreThanThereIsRoomForHaveNoOrdinal) {
  Phases phases(10);
  const auto groups = ordinals(phases, one_f_one_b(3, 30));
  EXPECT_EQ(*std::max_element(groups.begin(), groups.end()), 9);
  EXPECT_EQ(groups.back(), -1);
  EXPECT_EQ(ordinals(phases, one_f_one_b(3, 30)), groups);
}

}  // namespace
}  // namespace weft
