// See control_schedule.h.
#include "runner/policy/control_schedule.h"

namespace weft {
namespace {

// Iterations with fill and the run without that follows.
struct Block {
  std::uint64_t filled, control;
};
constexpr Block first_blocks[] = {{8, 4}, {28, 6}, {90, 8}};
constexpr Block later_block{152, 8};

}  // namespace

double control_share() {
  return static_cast<double>(later_block.control) / static_cast<double>(later_block.filled + later_block.control);
}

std::uint32_t most_between_runs() {
  return static_cast<std::uint32_t>(later_block.filled);
}

Part part_of(std::uint64_t turn) {
  if (turn == 0) return {};
  std::uint64_t begin = 1, control_before = 0;
  Block block = later_block;
  for (const Block& first : first_blocks) {
    block = first;
    if (turn < begin + block.filled + block.control) break;
    begin += block.filled + block.control;
    control_before = block.control;
    block = later_block;
  }
  begin += (turn - begin) / (block.filled + block.control) * (block.filled + block.control);
  const std::uint64_t next_run = begin + block.filled;
  if (turn >= next_run) return {true, turn != next_run && turn + 1 != next_run + block.control, next_run};
  const bool nearer_to_next = control_before == 0 || next_run - turn < turn - begin + 1;
  return {false, turn != begin && turn + 1 != next_run, nearer_to_next ? next_run : begin - control_before};
}

}  // namespace weft
