// The price of filling over many runs of iterations without fill, far more than the window of ratios.h has. Pure.
//
// Used by Ratios, on the thread that steps the Session. No allocation.
//
// A window of five runs tells the price to a fifth of the spread between iterations, however long the training is.
// A budget below that needs more: the estimates of 128 runs, some 20,000 iterations, tell it to a twenty-fifth.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft {

// With its standard error, from the spread between runs: whatever makes one run differ from the next is in it.
struct MeanOfRuns {
  double estimate = 0, error = 0;
  double freedom = 0;                               // of Student's distribution
  std::uint32_t control = 0, filled = 0, runs = 0;  // see Slowdown
};

class ManyRuns {
 public:
  static constexpr std::size_t most = 128, fewest = 8;

  // A run that is complete: its estimate, and the numbers of iterations without fill and with it.
  void add(double estimate, std::uint32_t control, std::uint32_t filled);
  void forget() { seen_ = 0; }
  // Of as many of the latest runs as it takes for this error, or of all. The mean of the half of the weight in the
  // middle: some runs may be disturbed as a whole. A run weighs as the inverse of its variance. Nothing from fewer than
  // `fewest`.
  std::optional<MeanOfRuns> mean(double error = 0) const;

 private:
  struct Run {  // small, as there are many
    float estimate = 0;
    std::uint16_t control = 0, filled = 0;
    double weight() const { return static_cast<double>(control) * filled / (control + filled); }
  };
  std::optional<MeanOfRuns> mean_of_latest(std::size_t count) const;

  std::array<Run, most> runs_{};  // a ring
  std::size_t seen_ = 0;
};

}  // namespace weft
