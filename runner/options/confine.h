// How fill work is kept off the multiprocessors that stay free for NCCL: the user's wish (WEFT_CONFINE), and what holds
// for a job. Plain values, pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

// `automatic`: the first of these that can be had.
enum class Confine : std::uint8_t { automatic, job, green, none };
inline constexpr std::array<std::string_view, 4> confine_names{"auto", "job", "green", "none"};

// By the job itself, whose grids are small enough; by a green context without those multiprocessors; or not at all,
// where the longest kernel of a large grid is no longer than a slice may be. From the strongest to the weakest.
enum class Confinement : std::uint8_t { job, green, none };
inline constexpr std::array<std::string_view, 3> confinement_names{"job", "green", "none"};
inline std::string_view name_of(Confinement confinement) {
  return confinement_names[static_cast<std::size_t>(confinement)];
}

}  // namespace weft
