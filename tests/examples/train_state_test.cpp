// The training job around its arithmetic: which images a step takes, what it begins with, and the bytes that are kept
// of it: they come back as they were, and anything else is refused. No GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "fill/train/parameters.h"
#include "fill/train/unit.h"

namespace {

using train::History;
using train::SavedLayout;
namespace saved = train::saved;

class TrainSampling : public testing::TestWithParam<std::uint32_t> {};

TEST_P(TrainSampling, EachEpochHasEveryImageOnceInAnOrderOfItsOwn) {
  const std::uint32_t count = GetParam();
  std::vector<std::uint32_t> every(count);
  std::iota(every.begin(), every.end(), 0U);
  std::set<std::vector<std::uint32_t>> orders;
  for (const std::uint64_t seed : {1U, 2U})
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::uint32_t> order;
      for (std::uint32_t place = 0; place < count; ++place)
        order.push_back(train::image_at(epoch * count + place, count, seed));
      orders.insert(order);
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order, every) << "epoch " << epoch;
    }
  EXPECT_TRUE(count < 16 || orders.size() == 6) << orders.size();
}

INSTANTIATE_TEST_SUITE_P(Counts, TrainSampling, testing::Values(1U, 2U, 3U, 4U, 5U, 16U, 17U, 600U, 4097U));

TEST(TrainUnit, TakesTheImagesOfItsStepsAndTheirLabels) {
  const std::vector<int> labels_of_all{7, 8, 9, 10, 11};
  const train::Ticket ticket{3, 0, 0};
  const train::Choice choice{5, 5, 2, 4};  // eight images, over the end of an epoch
  std::vector<std::uint32_t> chosen(8);
  std::vector<int> labels(8);
  for (int i = 0; i < 8; ++i) train::choose(i, choice, ticket, labels_of_all.data(), chosen.data(), labels.data());
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(chosen[i], train::image_at(6 + i, 5, 5));
    EXPECT_EQ(labels[i], static_cast<int>(7 + chosen[i]));
  }
  const std::vector<std::uint8_t> images{0, 128, 255, 64};  // two, of two numbers
  const std::vector<std::uint32_t> one{1};
  float x[2];
  for (int i = 0; i < 2; ++i) train::fetch(i, 2, images.data(), one.data(), x);
  EXPECT_EQ(x[0], 127.0F / 128);
  EXPECT_EQ(x[1], -0.5F);
}

TEST(TrainUnit, ReadsOneCopyOfTheStateAndWritesTheOther) {
  float first[] = {1, 2, 3}, second[] = {4, 5, 6}, state[] = {0, 0, 0};
  const train::Copies copies{{first, second}};
  const train::Ticket ticket{0, 1, 0};
  const train::Range range{1, 2};
  for (int i = 0; i < range.count; ++i) train::load(i, range, ticket, copies, state);
  EXPECT_EQ(std::vector<float>(state, state + 3), (std::vector<float>{0, 5, 6}));
  state[2] = 9;
  std::uint32_t broken = 0;
  for (int i = 0; i < range.count; ++i) train::store(i, range, ticket, copies, state, &broken);
  EXPECT_EQ(broken, 0U);
  EXPECT_EQ(std::vector<float>(first, first + 3), (std::vector<float>{1, 5, 9}));
  EXPECT_EQ(std::vector<float>(second, second + 3), (std::vector<float>{4, 5, 6}));
}

TEST(TrainUnit, SaysWhereANumberOfItsStateIsNotFinite) {
  using Limits = std::numeric_limits<float>;
  for (const float number : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::max()}) {
    float copy[3], state[] = {1, number, 3};
    std::uint32_t broken = 0;
    for (int i = 0; i < 3; ++i) train::store(i, {0, 3}, {0, 1, 0}, {{copy, nullptr}}, state, &broken);
    EXPECT_EQ(broken, std::isfinite(number) ? 0U : 1U) << number;
  }
}

TEST(TrainUnit, ReportsTheMeanLossOfEachStepAndHowManyThereAreThen) {
  const std::vector<float> losses{1, 3, 10, 20};
  float means[2];
  std::uint64_t step = 0;
  const train::Ticket ticket{40, 0, 0};
  for (int i = 0; i < 2; ++i) train::report(i, {0, 9, 2, 2}, ticket, losses.data(), means, &step);
  EXPECT_EQ(means[0], 2);
  EXPECT_EQ(means[1], 15);
  EXPECT_EQ(step, 42U);
}

TEST(TrainParameters, StandWhereTheStepLooksForThem) {
  const train::Network n{2, 5, 6, 3, 4, 2, 7};
  std::uint64_t at = 0;
  std::map<std::string, std::uint64_t> found;
  for (const train::SavedTensor& tensor : train::tensors_of(n)) {
    found[tensor.name] = at;
    at += tensor.bytes() / sizeof(float);
  }
  EXPECT_EQ(found["blocks.0.conv1.weight"], n.first_at(0));
  EXPECT_EQ(found["blocks.1.conv1.weight"], n.first_at(1));
  EXPECT_EQ(found["blocks.1.conv2.weight"], n.second_at(1));
  EXPECT_EQ(found["head.weight"], n.head_at());
  EXPECT_EQ(at, n.parameters());
}

TEST(TrainParameters, BeginAsTheSeedSays) {
  const train::Network n{2, 5, 6, 3, 4, 1, 7};
  std::vector<float> one(n.parameters()), same(n.parameters()), other(n.parameters());
  train::set_initial(train::tensors_of(n), 1, one.data());
  train::set_initial(train::tensors_of(n), 1, same.data());
  train::set_initial(train::tensors_of(n), 2, other.data());
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
  const float bound = std::sqrt(6.0F / 27), stem = static_cast<float>(n.stem().weights());
  float squares = 0;
  for (int i = 0; i < n.stem().weights(); ++i) {
    EXPECT_LE(std::abs(one[static_cast<std::size_t>(i)]), bound);
    squares += one[static_cast<std::size_t>(i)] * one[static_cast<std::size_t>(i)];
  }
  EXPECT_NEAR(squares / stem, bound * bound / 3, 0.3 * bound * bound / 3);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(one[static_cast<std::size_t>(n.stem().weights()) + i], 1);
  EXPECT_EQ(one[n.stem_size() - 1], 0);
  EXPECT_EQ(one.back(), 0);
}

TEST(TrainHistory, KeepsTheLatestLosses) {
  History history(3);
  for (int i = 0; i < 5; ++i) history.add(static_cast<float>(i));
  std::vector<float> latest(history.size());
  history.copy_to(latest.data());
  EXPECT_EQ(history.steps(), 5U);
  EXPECT_EQ(latest, (std::vector<float>{2, 3, 4}));
  History other(3);
  other.set(5, latest.data());
  other.add(5);
  other.copy_to(latest.data());
  EXPECT_EQ(latest, (std::vector<float>{3, 4, 5}));
}

class TrainSaved : public testing::Test {
 protected:
  TrainSaved() : numbers_(2 * layout_.parameter_bytes() / sizeof(float)) {
    std::iota(numbers_.begin(), numbers_.end(), 1.0F);
    for (int i = 0; i < 12; ++i) history_.add(0.5F * static_cast<float>(i));
    bytes_ = written();
  }
  std::string written() const {
    std::string bytes(saved::size(layout_, history_.size()), '\0');
    saved::write(layout_, numbers_.data(), history_, bytes.data());
    return bytes;
  }
  // Why it is not taken; that nothing has changed then.
  std::string refused(const std::string& bytes) const {
    std::vector<float> state(numbers_.size(), -1);
    History history(history_.room());
    history.add(-1);
    const std::string why = saved::read(layout_, bytes, state.data(), history);
    EXPECT_EQ(state, std::vector<float>(numbers_.size(), -1)) << why;
    EXPECT_EQ(history.steps(), 1U) << why;
    return why;
  }
  std::size_t body() const { return 8 + saved::padded_header(layout_, 0).size(); }

  SavedLayout layout_{"channels=2,seed=1", {{"stem.weight", {2, 3, 3, 1}}, {"head.bias", {2}}}};
  std::vector<float> numbers_;
  History history_{100};
  std::string bytes_;
};

TEST_F(TrainSaved, ComesBackAsItWas) {
  std::vector<float> state(numbers_.size());
  History history(100);
  EXPECT_EQ(saved::read(layout_, bytes_, state.data(), history), "");
  EXPECT_EQ(state, numbers_);
  EXPECT_EQ(history.steps(), 12U);
  std::vector<float> losses(12);
  history.copy_to(losses.data());
  EXPECT_EQ(losses[11], 5.5F);
}

TEST_F(TrainSaved, ComesBackBeforeTheFirstStepAndAfterMoreThanAreKept) {
  for (const int steps : {0, 9, 10, 11, 1234}) {
    history_ = History(10);
    for (int i = 0; i < steps; ++i) history_.add(static_cast<float>(i));
    std::vector<float> state(numbers_.size());
    History history(10);
    EXPECT_EQ(saved::read(layout_, written(), state.data(), history), "");
    EXPECT_EQ(history.steps(), static_cast<std::uint64_t>(steps));
    std::vector<float> losses(history.size());
    history.copy_to(losses.data());
    EXPECT_TRUE(losses.empty() ? steps == 0 : losses.back() == static_cast<float>(steps - 1));
  }
}

TEST_F(TrainSaved, IsRefusedWhenItIsCutOrLonger) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) EXPECT_NE(refused(bytes_.substr(0, size)), "") << size;
  for (const std::size_t more : {1U, 4U, 8U, 4096U}) EXPECT_NE(refused(bytes_ + std::string(more, '\0')), "") << more;
}

TEST_F(TrainSaved, IsRefusedWhenAByteOfItsHeaderIsAnother) {
  for (std::size_t at = 0; at < body(); ++at)
    for (const int bit : {0, 7}) {
      std::string bytes = bytes_;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      EXPECT_NE(refused(bytes), "") << at;
    }
}

TEST_F(TrainSaved, IsRefusedWhenItIsOfAnotherTraining) {
  const std::string same = bytes_;
  layout_.identity = "channels=2,seed=2";
  EXPECT_EQ(refused(same), "the saved progress is of another training: channels=2,seed=1");
  layout_.identity = "channels=2,seed=1";
  layout_.parameters[1].shape[0] = 3;
  EXPECT_EQ(refused(same), "the saved progress is not that of such a training");
}

TEST_F(TrainSaved, IsRefusedWhenItsNumbersAreNotFinite) {
  for (const float number : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const std::size_t at : {body() + 8, body() + 8 + 76, bytes_.size() - 4}) {
      std::string bytes = bytes_;
      std::memcpy(bytes.data() + at, &number, sizeof number);
      EXPECT_EQ(refused(bytes), "the saved progress has numbers that are not finite") << at;
    }
}

TEST_F(TrainSaved, IsRefusedWhenItsStepsAreNotThoseOfItsLosses) {
  for (const std::uint64_t steps : {std::uint64_t{0}, std::uint64_t{11}, std::uint64_t{13}, ~std::uint64_t{0}}) {
    std::string bytes = bytes_;
    std::memcpy(bytes.data() + body(), &steps, sizeof steps);
    EXPECT_EQ(refused(bytes), "the saved progress has 12 losses of " + std::to_string(steps) + " steps");
  }
}

// Random bytes, with a sound begin and without.
TEST_F(TrainSaved, IsRefusedWhenItIsAnything) {
  std::uint64_t number = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(round % 300, '\0');
    for (char& character : bytes) character = static_cast<char>(number = train::mixed(number));
    EXPECT_NE(refused(bytes), "");
    EXPECT_NE(refused(bytes_.substr(0, 8 + saved::before_identity.size()) + bytes), "");
  }
}

// Whatever stands there in the place of a name goes into one line of a log.
TEST_F(TrainSaved, NamesAnotherTrainingInPrintableCharacters) {
  std::string bytes = bytes_;
  bytes[8 + saved::before_identity.size()] = '\n';
  bytes[9 + saved::before_identity.size()] = '\xFF';
  EXPECT_EQ(refused(bytes), "the saved progress is of another training: ??annels=2,seed=1");
  EXPECT_LT(refused(bytes_.substr(0, 8 + saved::before_identity.size()) + std::string(5000, 'x')).size(), 300U);
}

}  // namespace
