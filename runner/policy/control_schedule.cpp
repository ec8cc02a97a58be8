// See control_schedule.h.
#include "runner/policy/control_schedule.h"

#include <cstddef>
#include <iterator>

namespace weft {
namespace {

// Iterations with fill, and the run without that follows: it is watched, then dark, then watched again, so that neither
// a drift nor what filling leaves behind, a hotter GPU, makes a difference between the two.
struct Block {
  std::uint64_t filled, control, dark, control_again;
  constexpr std::uint64_t without_fill() const { return control + dark + control_again; }
  constexpr std::uint64_t all() const { return filled + without_fill(); }
};
constexpr Block first_blocks[] = {{8, 4, 0, 0}, {8, 4, 0, 0}, {28, 5, 6, 5}, {90, 6, 8, 6}};
// Over and over again. Watching costs the same all the time: it is measured more seldom.
constexpr Block later_blocks[] = {{152, 6, 8, 6}, {152, 8, 0, 0}, {152, 8, 0, 0}, {152, 8, 0, 0}};

constexpr Block later() {
  Block sum{};
  for (const Block& each : later_blocks) {
    sum.filled += each.filled;
    sum.control += each.control;
    sum.dark += each.dark;
    sum.control_again += each.control_again;
  }
  return sum;
}

// The block of a turn, where it begins, and the iterations without fill just before it.
struct Place {
  Block block;
  std::uint64_t begin = 1, without_fill_before = 0;
  // Goes on to the next block, unless the turn is in this one.
  bool is_at(std::uint64_t turn, const Block& next) {
    if (turn < begin + block.all()) return true;
    begin += block.all();
    without_fill_before = block.without_fill();
    block = next;
    return false;
  }
};

Place place_of(std::uint64_t turn) {
  Place place{first_blocks[0]};
  for (std::size_t i = 1; i < std::size(first_blocks); ++i)
    if (place.is_at(turn, first_blocks[i])) return place;
  if (place.is_at(turn, later_blocks[0])) return place;
  const std::uint64_t cycles = (turn - place.begin) / later().all();
  place.begin += cycles * later().all();
  if (cycles != 0) place.without_fill_before = later_blocks[std::size(later_blocks) - 1].without_fill();
  for (std::size_t i = 1; i < std::size(later_blocks); ++i)
    if (place.is_at(turn, later_blocks[i])) return place;
  return place;
}

}  // namespace

double control_share() {
  return static_cast<double>(later().without_fill()) / static_cast<double>(later().all());
}

double dark_share() {
  return static_cast<double>(later().dark) / static_cast<double>(later().all());
}

std::uint32_t most_between_runs() {
  return static_cast<std::uint32_t>(later_blocks[0].filled);
}

Part part_of(std::uint64_t turn) {
  if (turn == 0) return {};
  const auto [block, begin, without_fill_before] = place_of(turn);
  const std::uint64_t next_run = begin + block.filled, dark = next_run + block.control, light = dark + block.dark;
  const auto within = [&](IterationPurpose purpose, std::uint64_t from, std::uint64_t until) {
    return Part{purpose, turn != from && turn + 1 != until, next_run};
  };
  if (block.dark != 0 && turn >= light) return within(IterationPurpose::control, light, begin + block.all());
  if (block.dark != 0 && turn >= dark) return within(IterationPurpose::dark, dark, light);
  if (turn >= next_run) return within(IterationPurpose::control, next_run, dark);
  const bool nearer_to_next = without_fill_before == 0 || next_run - turn < turn - begin + 1;
  return {IterationPurpose::filled, turn != begin && turn + 1 != next_run,
          nearer_to_next ? next_run : begin - without_fill_before};
}

}  // namespace weft
