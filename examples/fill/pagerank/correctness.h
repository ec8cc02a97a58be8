// A short look at the results of a unit of the PageRank job.
//
// Called by the job's check() on the thread that has the unit's results, which wants an answer in under a millisecond.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace pagerank {

// Of the records of a unit.
struct Results {
  int vertices = 0, records = 0;
  const std::uint32_t* lengths;  // how many seeds
  const float *ranks, *change;
  const int* known;
};

// Ranks add up to one; those of a record without a known seed are no numbers. 1: right as far as there was time to add
// them up, 0: wrong, -1: no ranks were added up, and nothing is wrong.
inline int correctness(const Results& results) {
  constexpr int most_added = 1 << 17;
  int left = most_added, correct = -1;
  for (int record = 0; record < results.records; ++record) {
    const float change = results.change[record];
    if (results.known[record] == 0 && results.lengths[record] != 0) {
      if (!std::isnan(change)) return 0;
      continue;
    }
    if (!(change >= 0 && change <= 2.001F)) return 0;
    if (left < results.vertices) continue;
    left -= results.vertices;
    const float* const ranks =
        results.ranks + static_cast<std::size_t>(record) * static_cast<std::size_t>(results.vertices);
    double sum = 0;
    for (int v = 0; v < results.vertices; ++v) sum += static_cast<double>(ranks[v]);
    if (!(std::abs(sum - 1) < 1e-3)) return 0;
    correct = 1;
  }
  return correct;
}

}  // namespace pagerank
