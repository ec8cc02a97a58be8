// The parts of the factorizing job that need no GPU: its steps, which have the same bits however they are cut and go
// down to the factors of the values; its state as bytes, also bytes that are none; the history that says which unit
// counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "fill/factorize/descent.h"
#include "fill/factorize/state.h"

namespace factorize {
namespace {

// Three sources times four targets, all edges; vertices 0 to 2 are the sources. Values are of rank 1.
struct Descending {
  std::vector<int> offsets{0, 0, 0, 0, 3, 6, 9, 12}, out_offsets{0, 4, 8, 12, 12, 12, 12, 12};
  std::vector<int> sources, out_targets, out_numbers;
  std::vector<float> values;
  Shape s{7, 12, 2, 5};
  Rule rule{7, 0x7FFFFFFF, 0.5F, 0.2F, 1e-4F};
  std::vector<float> state[2], errors, sums, losses, starts, heads;
  std::vector<int> counts, first_sources, first_targets;

  Descending() : errors(12), sums(5), starts(14), heads(2), counts(5), first_sources(1), first_targets(1) {
    for (int target = 0; target < 4; ++target)
      for (int source = 0; source < 3; ++source) {
        sources.push_back(source);
        values.push_back(static_cast<float>((source + 1) * (target - 1)) / 2);
      }
    for (int source = 0; source < 3; ++source)
      for (int target = 0; target < 4; ++target) {
        out_targets.push_back(3 + target);
        out_numbers.push_back(3 * target + source);
      }
    const int numbers = static_cast<int>(numbers_of_factors(s));
    for (auto& side : state) side.resize(static_cast<std::size_t>(numbers));
    for (int i = 0; i < numbers; ++i) state[0][static_cast<std::size_t>(i)] = first_factor(rule, s, i);
  }
  Graph graph() const {
    return {offsets.data(), sources.data(), out_offsets.data(), out_targets.data(), out_numbers.data(), values.data()};
  }
  Factors factors(int side) {
    float* const begin = state[side].data();
    return {begin, begin + state[side].size() / 2};
  }
  template <class Launch>
  static void in_ranges(int count, int cut, Launch launch) {
    for (int first = 0; first < count; first += cut) launch(Range{first, std::min(cut, count - first)});
  }
  void go(int steps, int cut) {
    const std::int64_t first = 0;
    for (int i = 0; i < items::find_strips(s); ++i) {
      find_strips(i, sources_of(s, graph()), first_sources.data());
      find_strips(i, targets_of(s, graph()), first_targets.data());
    }
    for (int step = 0; step < steps; ++step) {
      const Factors from = factors(step % 2), next = factors(1 - step % 2);
      in_ranges(s.edges, cut, [&](const Range& range) {
        for (int i = 0; i < items::errors(range); ++i)
          factorize::errors(i, s, rule, range, &first, step, graph(), from, errors.data());
      });
      for (int i = 0; i < items::squares(s); ++i)
        squares(i, s, rule, &first, step, errors.data(), sums.data(), counts.data());
      loss(s, sums.data(), counts.data(), &losses.emplace_back());
      in_ranges(items::find_strips(s), cut, [&](const Range& range) {
        for (int i = 0; i < items::add(s, range); ++i)
          add_sources(i, s, range, graph(), first_sources.data(), errors.data(), from.targets, starts.data(),
                      heads.data());
      });
      descend_all(sources_of(s, graph()), cut, from.sources, next.sources);
      in_ranges(items::find_strips(s), cut, [&](const Range& range) {
        for (int i = 0; i < items::add(s, range); ++i)
          add_targets(i, s, range, graph(), first_targets.data(), errors.data(), from.sources, starts.data(),
                      heads.data());
      });
      descend_all(targets_of(s, graph()), cut, from.targets, next.targets);
    }
  }
  void descend_all(const fill::Rows& rows, int cut, const float* from, float* out) {
    in_ranges(s.vertices, cut, [&](const Range& range) {
      for (int i = 0; i < items::descend(s, range); ++i)
        descend(i, s, rule, range, rows, starts.data(), heads.data(), from, out);
    });
  }
};

TEST(Factorize, GoesDownToTheFactorsOfTheValues) {
  Descending descending;
  descending.go(400, 100);
  EXPECT_GT(descending.losses.front(), 0.1F);
  EXPECT_LT(descending.losses.back(), 1e-4F);
}

TEST(Factorize, HasTheSameBitsHoweverItIsCut) {
  Descending whole, cut;
  whole.go(50, 100);
  cut.go(50, 2);
  EXPECT_EQ(whole.losses, cut.losses);
  EXPECT_EQ(whole.state[0], cut.state[0]);
}

TEST(Factorize, AMinibatchHasItsShareOfTheEdges) {
  Rule rule{3, 0, 0, 0, 0};
  for (const double share : {0.01, 0.25, 0.9}) {
    rule.chosen = static_cast<std::uint32_t>(share * 4294967295.0);
    int count = 0;
    for (int step = 0; step < 100; ++step)
      for (int edge = 0; edge < 1000; ++edge) count += is_chosen(rule, salt_of(rule, step), edge) ? 1 : 0;
    EXPECT_NEAR(count / 100000.0, share, 0.005);
  }
  rule.chosen = 0xFFFFFFFF;
  for (int edge = 0; edge < 1000; ++edge) EXPECT_TRUE(is_chosen(rule, salt_of(rule, 0), edge));
}

TEST(Factorize, AnEmptyMinibatchChangesNothingButTheDecay) {
  Descending none;
  none.rule.chosen = 0;
  none.rule.decay = 0;
  const std::vector<float> before = none.state[0];
  none.go(2, 100);
  EXPECT_EQ(none.state[0], before);
  EXPECT_EQ(none.losses, (std::vector<float>{0, 0}));
}

// The sanitizers see what is read or written out of bounds.
TEST(Factorize, NothingIsTouchedOutOfBounds) {
  Descending wrong;
  wrong.rule.chosen = 0xFFFFFFFF;
  wrong.offsets = {-3, 1 << 30, 5, -1, 2, 3, 90, 7};
  wrong.out_offsets = {9, 1, 1 << 30, -1, 2, 3, 90, -7};
  wrong.sources = {7, -1, 1 << 30, 0, 3, 0, 0, 0, 0, 0, 0, 0};
  wrong.out_targets = {7, -1, 1 << 30, 0, 3, 0, 0, 0, 0, 0, 0, 0};
  wrong.out_numbers = {12, -1, 1 << 30, 0, 3, 0, 0, 0, 0, 0, 0, 0};
  wrong.go(3, 2);
  EXPECT_EQ(wrong.losses.size(), 3U);
}

// The places on the host: one is read, the other written, and the one that counts is the host's choice.
TEST(Factorize, AUnitIsLoadedFromOnePlaceAndStoredInTheOther) {
  std::vector<float> places[2] = {{1, 2, 3}, {4, 5, 6}}, state(3);
  const std::uint32_t place = 1;
  const std::int64_t step = 30;
  const Kept kept{{places[0].data(), places[1].data()}, &place, &step};
  std::int64_t loaded = 0;
  const Range range{1, 2};
  for (int i = 0; i < items::load(range); ++i) load(i, range, kept, state.data(), &loaded);
  EXPECT_EQ(state, (std::vector<float>{0, 5, 6}));
  EXPECT_EQ(loaded, 30);
  state = {7, 8, 9};
  for (int i = 0; i < items::store(range); ++i) store(i, range, kept, state.data());
  EXPECT_EQ(places[0], (std::vector<float>{1, 8, 9}));
  EXPECT_EQ(places[1], (std::vector<float>{4, 5, 6}));
}

constexpr float none = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();

std::string take(History& history, float before, const std::vector<float>& losses, float behind) {
  return history.take({before, behind, losses.data(), losses.size()});
}

TEST(FactorizeHistory, TakesUnitsThatDoNotDiverge) {
  const std::string not_finite = "a loss is not finite; a smaller rate may help";
  History history;
  EXPECT_EQ(take(history, 2, {2, none}, 1), not_finite);
  EXPECT_EQ(take(history, 2, {2, 2}, 21), "the loss grew to 21 from 2; a smaller rate may help");
  EXPECT_EQ(take(history, none, {2, 2}, 1), not_finite);
  EXPECT_TRUE(history.losses.empty());
  EXPECT_EQ(take(history, 2, {3, 19}, 1), "");
  EXPECT_EQ(take(history, 1, {1, 1}, none), not_finite);
  EXPECT_EQ(take(history, 1, {1, infinite}, 1), not_finite);
  EXPECT_NE(take(history, 1, {1, 1}, 20.5F), "");
  EXPECT_EQ(take(history, 1, {1, 0.5F}, 0.25F), "");
  EXPECT_EQ(history.losses, (std::vector<float>{3, 19, 1, 0.5F}));
  EXPECT_EQ(history.first, 2);
  EXPECT_EQ(history.all_edges, 0.25F);
}

// Minibatches without an edge, and with the only one that is far from all others.
TEST(FactorizeHistory, DoesNotAskForLuckOfAMinibatch) {
  History empty;
  EXPECT_EQ(take(empty, 0.5F, {0, 0, 0.7F}, 0.4F), "");
  EXPECT_EQ(take(empty, 0.4F, {0, 3}, 0.3F), "");
  EXPECT_EQ(empty.first, 0.5F);
  History outlier;
  EXPECT_EQ(take(outlier, 0.8F, {0.01F, 0.01F, 3.1F, 900}, 0.79F), "");
  EXPECT_EQ(outlier.first, 0.8F);
}

TEST(FactorizeHistory, OfValuesThatAreMetAtFirstMayGrowALittle) {
  History history;
  EXPECT_EQ(take(history, 0, {0, 0}, 1e-13F), "");
  EXPECT_EQ(history.first, History::least_first);
  EXPECT_NE(take(history, 1e-13F, {0, 0}, 1), "");
}

TEST(FactorizeHistory, KeepsTheNewest) {
  History history;
  const std::vector<float> losses(1000, 1);
  for (int i = 0; i < 70; ++i) EXPECT_EQ(take(history, 1, losses, 1), "");
  EXPECT_EQ(take(history, 1, {2}, 1), "");
  EXPECT_EQ(history.losses.size(), History::most);
  EXPECT_EQ(history.losses.back(), 2);
}

struct FactorizeState : ::testing::Test {
  const Origin origin{{3, 9, 2, 1}, 5};
  History history;
  std::vector<float> factors{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

  FactorizeState() { take(history, 3, {4, 2, 1.5F}, 1.25F); }
  std::string bytes() const {
    std::string made(bytes_of_state(origin.shape, history), '\0');
    write_state({origin, 30, factors.data()}, history, made.data());
    return made;
  }
  struct Read {
    std::string fault;
    std::int64_t step = -1;
    History history{};
    std::vector<float> factors = std::vector<float>(12, -1);
  };
  static Read read(const std::string& bytes, const Origin& origin) {
    Read read;
    read.fault = read_state(origin, bytes.data(), bytes.size(), read.step, read.history, read.factors.data());
    return read;
  }
};

TEST_F(FactorizeState, IsReadAsItWasWritten) {
  const Read back = read(bytes(), origin);
  EXPECT_EQ(back.fault, "");
  EXPECT_EQ(back.step, 30);
  EXPECT_EQ(back.factors, factors);
  EXPECT_EQ(back.history.losses, history.losses);
  EXPECT_EQ(back.history.first, 3);
  EXPECT_EQ(back.history.all_edges, 1.25F);
}

TEST_F(FactorizeState, OfAnythingElseIsRefused) {
  const std::string whole = bytes();
  for (const Shape& other : {Shape{3, 9, 3, 1}, Shape{4, 9, 2, 1}, Shape{3, 8, 2, 1}, Shape{2, 9, 3, 1}})
    EXPECT_NE(read(whole, {other, origin.digest}).fault.find("is of another graph or of other factors"),
              std::string::npos);
  EXPECT_EQ(read(whole, {origin.shape, 6}).fault,
            "saved progress is of another graph or of other factors, or of another job");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(read(whole.substr(0, size), origin).fault, "");
  EXPECT_NE(read(whole + "0000", origin).fault, "");
  const auto with = [&](std::size_t at, auto number) {
    std::string changed = whole;
    std::memcpy(changed.data() + at, &number, sizeof number);
    const Read back = read(changed, origin);
    EXPECT_EQ(back.step, back.fault.empty() ? back.step : -1);
    EXPECT_EQ(back.factors[0], back.fault.empty() ? back.factors[0] : -1);
    return back.fault;
  };
  EXPECT_EQ(with(header_bytes, std::int64_t{2}), "saved progress has 3 losses of 2 steps");
  EXPECT_EQ(with(header_bytes, std::int64_t{-30}), "saved progress has 3 losses of -30 steps");
  EXPECT_EQ(with(header_bytes + 8, none), "saved progress has a loss that is none");
  EXPECT_EQ(with(header_bytes + 16, -1.0F), "saved progress has a loss that is none");
  EXPECT_EQ(with(whole.size() - 4, infinite), "saved progress has a factor that is no finite number");
  EXPECT_EQ(with(whole.size() - 4, 5.0F), "");
  std::string from_zero = whole;
  std::memset(from_zero.data() + header_bytes + 8, 0, 4);
  EXPECT_EQ(read(from_zero, origin).history.first, History::least_first);
}

TEST_F(FactorizeState, WithAnyByteChangedIsTakenWholeOrNotAtAll) {
  std::mt19937 dice(1);
  const std::string whole = bytes();
  for (int i = 0; i < 20000; ++i) {
    std::string changed = whole;
    for (std::size_t k = 0; k <= dice() % 3; ++k) changed[dice() % changed.size()] = static_cast<char>(dice());
    if (dice() % 8 == 0) changed.resize(dice() % (2 * changed.size()));
    const Read back = read(changed, origin);
    if (back.fault.empty()) {
      EXPECT_GE(back.step, 3);
      for (const float factor : back.factors) EXPECT_TRUE(std::isfinite(factor));
    } else {
      EXPECT_EQ(back.step, -1);
      EXPECT_EQ(back.factors, std::vector<float>(12, -1));
    }
  }
}

}  // namespace
}  // namespace factorize
