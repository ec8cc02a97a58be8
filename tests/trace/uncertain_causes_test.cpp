// Which causes of uncertain time are named.
#include "trace/uncertain_causes.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr const char* queue = "one hardware queue: what was launched may be held up";
constexpr const char* host = "host wait outside CUDA: nothing was launched";

TEST(UncertainCauses, NoneIsNoText) {
  EXPECT_TRUE(UncertainCauses().text().empty());
}

// One long wait of the host does not stand for a thousand short times of another cause.
TEST(UncertainCauses, TheOneOfTheMostTimeComesFirst) {
  UncertainCauses causes;
  causes.add(RecordText(host), 50ms);
  for (int i = 0; i < 1000; ++i) causes.add(RecordText(queue), 1ms);
  EXPECT_EQ(std::string_view(causes.text()), queue);
  causes.add(RecordText(host), 200ms);
  EXPECT_EQ(std::string_view(causes.text()), std::string(queue) + "; besides: host wait outside CUDA (20 % of it)");
}

TEST(UncertainCauses, CausesWithoutAColonAreNamedWhole) {
  UncertainCauses causes;
  causes.add(RecordText(queue), 2ms);
  causes.add(RecordText("a stream could not be asked"), 1ms);
  causes.add(RecordText(host), 1ms);
  EXPECT_EQ(
      std::string_view(causes.text()),
      std::string(queue) + "; besides: a stream could not be asked (25 % of it), host wait outside CUDA (25 % of it)");
}

TEST(UncertainCauses, MoreThanThereArePlacesForCountAsAllTheSame) {
  UncertainCauses causes;
  for (int i = 0; i < 100; ++i) causes.add(RecordText("cause " + std::to_string(i)), 1ms);
  causes.add(RecordText("cause 3"), 900ms);
  EXPECT_EQ(std::string_view(causes.text()), "cause 3");
}

}  // namespace
}  // namespace weft
