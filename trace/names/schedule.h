// The place of each message in the schedule of a pipeline: which microbatch, and which chunk of the model, from nothing
// but the order of a rank's calls in one iteration.
//
// Used by pipelines.cpp and group_names.cpp, in the weft command and in tests only. Pure. An order that is not exactly
// one of those known here gets no labels: a guess is never made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::names {

// The messages of a rank by their way: to or from the neighbour before it or behind it in the pipeline.
enum class Lane : std::uint8_t { activation_in, activation_out, gradient_in, gradient_out };
inline constexpr std::size_t lane_count = 4;

constexpr bool is_forward(Lane lane) noexcept {
  return lane == Lane::activation_in || lane == Lane::activation_out;
}
constexpr bool is_received(Lane lane) noexcept {
  return lane == Lane::activation_in || lane == Lane::gradient_in;
}

// Of one iteration of a rank: for each lane the numbers of the groups, in the order of their calls, that have a message
// of it. Several messages of a lane in one group are one, in parts.
struct Lanes {
  std::array<std::vector<std::uint32_t>, lane_count> groups;
  std::vector<std::uint32_t>& operator[](Lane lane) { return groups[static_cast<std::size_t>(lane)]; }
  const std::vector<std::uint32_t>& operator[](Lane lane) const { return groups[static_cast<std::size_t>(lane)]; }
};

// When the passes of an iteration change, in numbers of groups. Without activations, gradients or messages: 0, `none`,
// 0.
struct Turns {
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  std::uint32_t last_activation = 0, first_gradient = none, last_message = 0;
};
Turns turns_of(const Lanes& lanes);

// A rank's place in a pipeline.
struct Position {
  int rank = 0;  // from 0, in the order of the forward pass
  int ranks = 0;
  bool is_first() const { return rank == 0; }
  bool is_last() const { return rank == ranks - 1; }
};

// From 0. The chunk is that of the rank whose calls these are.
struct Label {
  int microbatch = 0, chunk = 0;
  friend bool operator==(const Label&, const Label&) = default;
};

struct Labels {
  int microbatches = 0;
  std::array<std::vector<Label>, lane_count> of_lane;  // as in Lanes
  const std::vector<Label>& operator[](Lane lane) const { return of_lane[static_cast<std::size_t>(lane)]; }
  friend bool operator==(const Labels&, const Labels&) = default;
};

// One stage on each rank: the order of 1F1B (also that of zero-bubble H1, which has the same messages), of GPipe, or
// forward passes alone.
enum class ChainOrder : std::uint8_t { one_f_one_b, gpipe, forward };
std::optional<Labels> label_chain(const Lanes& lanes, const Position& position, ChainOrder order);

bool trains(const Lanes& lanes);  // it has gradients
// All activations come before all gradients, or with the first of them.
bool is_forward_first(const Lanes& lanes);

// Several chunks on each rank, the last rank sends to the first one: the orders of interleaved 1F1B, of interleaved
// zero-bubble and of looped pipelines, which take `round` microbatches through one chunk after the other.
struct Looping {
  int microbatches = 0, chunks = 0, round = 0;
  // Forward passes before the first backward pass, more than the rank behind has: 2 in interleaved 1F1B, 1 in
  // interleaved zero-bubble. The labels are the same.
  int ahead_per_rank = 2;
  // Which calls tell it. False: receives come by the same number of passes ahead, always. True: they come now earlier,
  // now later, and the sends are in the order of the passes.
  bool by_sends = false;
  friend auto operator<=>(const Looping&, const Looping&) = default;
};
std::optional<Labels> label_ring(const Lanes& lanes, const Position& position, const Looping& looping);

}  // namespace weft::names
