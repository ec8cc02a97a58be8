// The arithmetic of the PageRank job: seeds, ranks against the definition, bits that do not depend on how it is cut,
// and arrays that are of no graph.
#include "fill/pagerank/ranking.h"

#include "fill/pagerank/correctness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace pagerank {
namespace {

// 0 -> 1, 0 -> 2, 1 -> 2, 2 -> 0, and 3, which has no edge out of it, from 2.
struct Ranking {
  std::vector<std::int64_t> ids{10, 20, 30, 1LL << 60};
  std::vector<int> offsets{0, 1, 2, 4, 5}, sources{2, 0, 0, 1, 2}, degrees{2, 1, 2, 0};
  Shape s{4, 5, 1, 3, 2, 0.85F};

  Graph graph() const { return {ids.data(), offsets.data(), sources.data(), degrees.data()}; }

  struct Result {
    std::vector<float> ranks, change;
    std::vector<int> known;
  };
  // A unit of the job. `cut`: the vertices of one launch.
  Result unit(const std::vector<std::vector<std::int64_t>>& records, int steps, int cut = 1 << 20) {
    s.batch = static_cast<int>(records.size());
    std::vector<std::int64_t> seeds(static_cast<std::size_t>(items::locate(s)));
    std::vector<std::uint32_t> lengths;
    for (const auto& record : records) {
      std::copy(record.begin(), record.end(), seeds.begin() + static_cast<std::ptrdiff_t>(lengths.size()) * s.seeds);
      lengths.push_back(static_cast<std::uint32_t>(record.size()));
    }
    const std::size_t numbers = static_cast<std::size_t>(items::spread(s)), batch = records.size();
    std::vector<int> places(seeds.size()), first_vertices(static_cast<std::size_t>(items::find_strips(s)));
    std::vector<float> starts(numbers), heads(first_vertices.size() * batch);
    std::vector<float> weights(batch), restart(numbers), sums(batch);
    std::vector<float> parts(static_cast<std::size_t>(items::dangling(s)));
    std::vector<float> ranks[2], flow[2];
    for (auto& side : ranks) side.resize(numbers);
    for (auto& side : flow) side.resize(numbers);
    Result result{std::vector<float>(numbers), std::vector<float>(batch), std::vector<int>(batch)};
    const Seeds given{seeds.data(), lengths.data()};
    for (int i = 0; i < items::locate(s); ++i) locate(i, s, graph(), given, places.data());
    for (int i = 0; i < items::weigh(s); ++i) weigh(i, s, given, places.data(), result.known.data(), weights.data());
    for (int i = 0; i < items::spread(s); ++i) spread(i, s, result.known.data(), weights.data(), restart.data());
    for (int i = 0; i < items::gather(s); ++i) gather(i, s, places.data(), weights.data(), restart.data());
    for (int i = 0; i < items::begin(s); ++i) begin(i, s, graph(), restart.data(), ranks[0].data(), flow[0].data());
    for (int i = 0; i < items::find_strips(s); ++i) find_strips(i, s, graph(), first_vertices.data());
    std::size_t now = 0;
    for (int step = 0; step < steps; ++step, now = 1 - now) {
      for (int i = 0; i < items::dangling(s); ++i) dangling(i, s, graph(), ranks[now].data(), parts.data());
      for (int i = 0; i < items::total(s); ++i) total(i, s, parts.data(), sums.data());
      const auto in_ranges = [&](int count, auto act) {
        for (int first = 0; first < count; first += cut) act(Range{first, std::min(cut, count - first)});
      };
      in_ranges(items::find_strips(s), [&](const Range& strips) {
        for (int i = 0; i < items::add(s, strips); ++i)
          add(i, s, strips, graph(), first_vertices.data(), flow[now].data(), starts.data(), heads.data());
      });
      in_ranges(s.vertices, [&](const Range& vertices) {
        for (int i = 0; i < items::pull(s, vertices); ++i)
          pull(i, s, vertices, graph(), restart.data(), sums.data(), starts.data(), heads.data(), ranks[1 - now].data(),
               flow[1 - now].data());
      });
    }
    for (int i = 0; i < items::change(s); ++i) change(i, s, ranks[now].data(), ranks[1 - now].data(), parts.data());
    for (int i = 0; i < items::total(s); ++i) total(i, s, parts.data(), result.change.data());
    for (int i = 0; i < items::write(s); ++i) write(i, s, ranks[now].data(), result.ranks.data());
    return result;
  }
};

// One more step gives the same ranks.
void expect_fixed_point(const std::vector<float>& ranks, const std::vector<double>& restart) {
  const auto r = [&](std::size_t v) { return static_cast<double>(ranks[v]); };
  const std::vector<double> incoming{r(2) / 2, r(0) / 2, r(0) / 2 + r(1), r(2) / 2};
  for (std::size_t v = 0; v < 4; ++v)
    EXPECT_NEAR(r(v), 0.85 * incoming[v] + (0.15 + 0.85 * r(3)) * restart[v], 1e-6) << v;
  EXPECT_NEAR(r(0) + r(1) + r(2) + r(3), 1, 1e-6);
}

TEST(PageRank, ConvergesToItsDefinition) {
  const auto result = Ranking().unit({{}, {10}, {20, 1LL << 60}}, 200);
  const auto of = [&](std::size_t record) {
    const auto begin = result.ranks.begin() + static_cast<std::ptrdiff_t>(4 * record);
    return std::vector<float>(begin, begin + 4);
  };
  expect_fixed_point(of(0), {0.25, 0.25, 0.25, 0.25});
  expect_fixed_point(of(1), {1, 0, 0, 0});
  expect_fixed_point(of(2), {0, 0.5, 0, 0.5});
  for (const float change : result.change) EXPECT_LT(change, 1e-6F);
  EXPECT_EQ(result.known, (std::vector<int>{0, 1, 2}));
}

TEST(PageRank, SeedsThatAreNoVerticesArePassedOver) {
  const auto result = Ranking().unit({{10, 11, 9}, {10}, {11, -5}, {10, 10, 20}}, 20);
  EXPECT_EQ(result.known, (std::vector<int>{1, 1, 0, 3}));
  for (std::size_t v = 0; v < 4; ++v) {
    EXPECT_EQ(result.ranks[v], result.ranks[4 + v]);
    EXPECT_TRUE(std::isnan(result.ranks[8 + v]));
  }
  EXPECT_TRUE(std::isnan(result.change[2]));
  EXPECT_GT(Ranking().unit({{10, 10, 20}}, 1).ranks[0], Ranking().unit({{10, 20}}, 1).ranks[0]);
}

TEST(PageRank, ARecordHasTheSameBitsWithAnyOthers) {
  const auto alone = Ranking().unit({{20, 30}}, 30);
  const auto beside = Ranking().unit({{}, {1}, {20, 30}, {10, 20, 30}}, 30, 1);
  for (std::size_t v = 0; v < 4; ++v) EXPECT_EQ(alone.ranks[v], beside.ranks[8 + v]);
  EXPECT_EQ(alone.change[0], beside.change[2]);
}

// Weft measures the job with any records, also with such that have no known seed: they may not take less time.
TEST(PageRank, SeedsThatAreNoVerticesTakeTheSameTime) {
  Shape s = Ranking().s;
  s.batch = 2;
  const std::vector<int> places(static_cast<std::size_t>(items::locate(s)), -1);
  const std::vector<float> weights(2, 1.0F);
  std::vector<float> restart(static_cast<std::size_t>(items::spread(s)), -0.0F);  // whose sign an addition takes away
  for (int i = 0; i < items::gather(s); ++i) gather(i, s, places.data(), weights.data(), restart.data());
  int touched = 0;
  for (const float number : restart) {
    EXPECT_EQ(number, 0.0F);
    touched += std::signbit(number) ? 0 : 1;
  }
  EXPECT_GE(touched, 2);
}

TEST(PageRank, ResultsAreRightOnlyWhereRanksWereAddedUp) {
  const auto looked_at = [](int vertices, float rank, float change, int known, std::uint32_t seeds) {
    const std::vector<float> ranks(2 * static_cast<std::size_t>(vertices), rank), changes(2, change);
    const std::vector<int> all_known(2, known);
    const std::vector<std::uint32_t> lengths(2, seeds);
    return correctness({vertices, 2, lengths.data(), ranks.data(), changes.data(), all_known.data()});
  };
  constexpr int most = 1 << 17;
  EXPECT_EQ(looked_at(4, 0.25F, 0, 1, 1), 1);
  EXPECT_EQ(looked_at(4, 0.25F, 0, 0, 0), 1);
  EXPECT_EQ(looked_at(most, 1.0F / most, 0, 1, 1), 1);
  EXPECT_EQ(looked_at(4, 0.3F, 0, 1, 1), 0);
  EXPECT_EQ(looked_at(4, 0.25F, 3, 1, 1), 0);
  EXPECT_EQ(looked_at(4, 0.25F, 0, 0, 1), 0);
  EXPECT_EQ(looked_at(most + 1, 1.0F, 0, 1, 1), -1);
  EXPECT_EQ(looked_at(most + 1, 1.0F, 3, 1, 1), 0);
  EXPECT_EQ(looked_at(4, NAN, NAN, 0, 1), -1);
}

// The sanitizers see what is read out of bounds.
TEST(PageRank, NothingIsReadOutOfBounds) {
  Ranking wrong;
  wrong.offsets = {-7, 1 << 30, -1, 3, 9};
  wrong.sources = {4, -1, 1 << 30, 0, 3};
  wrong.ids = {3, 1, 2, 0};
  EXPECT_EQ(wrong.unit({{0, 3, 9}}, 3).ranks.size(), 4U);
}

}  // namespace
}  // namespace pagerank
