// From bubbles to records of call sites, with a main job that is this thread.
#include "runner/sites/call_sites.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "runner/clock.h"

namespace weft {
namespace {

using std::chrono::seconds;

constexpr int device = 3;
GroupId wanted_from = 0;  // as the hooks would be told

class CallSitesTest : public ::testing::Test {
 protected:
  CallSitesTest() {
    wanted_from = 0;
    shim_.want_calls = [](int of, GroupId from) {
      EXPECT_EQ(of, device);
      wanted_from = from;
    };
  }
  void begin(const std::string& unwinder) {
    parts_.begin(unwinder);
    while (!parts_.is_ready()) std::this_thread::yield();
    sites_ = std::make_unique<CallSites>(parts_, *parts_.make_samples(device), shim_, device);
  }

  // One iteration of four groups; a bubble waits for the second and the fourth one. The dispatcher looks behind each.
  void iterate(bool may_ask = true) {
    for (std::int32_t ordinal = 0; ordinal < 4; ++ordinal) {
      ++group_;
      if (wanted_from != 0 && group_ >= wanted_from) wanted_from = parts_.call_returned(device, group_, "forward");
      sites_->group_issued(group_, {5, ordinal});
      if (ordinal % 2 == 1) sites_->push(bubble(ordinal));
      look(may_ask);
    }
  }
  // Names come from a thread of their own.
  void iterate_until_both_have_one() {
    const TimePoint limit = now() + seconds(20);
    while (frames().size() < 2) {
      ASSERT_LT(now(), limit);
      iterate();
      std::this_thread::yield();
    }
  }
  void look(bool may_ask) {
    sites_->look(now(), may_ask);
    for (const Record& record : sites_->take_records()) records_.push_back(record);
  }
  void finish() {
    sites_->finish(now(), seconds(10));
    for (const Record& record : sites_->take_records()) records_.push_back(record);
  }
  Record bubble(std::int32_t ordinal) const {
    Bubble bubble;
    bubble.iteration = bubble.turn = 2;
    bubble.rhythm = 5;
    bubble.group = group_;
    bubble.slot.ordinal = ordinal;
    return {device, now(), bubble};
  }
  std::map<std::int32_t, std::vector<CallFrameRecord>> frames() const {
    std::map<std::int32_t, std::vector<CallFrameRecord>> found;
    for (const Record& record : records_)
      if (record.kind == RecordKind::call_frame) found[record.call_frame.ordinal].push_back(record.call_frame);
    return found;
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> found;
    for (const Record& record : records_)
      if (record.kind == RecordKind::anomaly) found.emplace_back(record.anomaly.text.c_str());
    return found;
  }

  ShimServices shim_{};
  CallSiteParts parts_;
  std::unique_ptr<CallSites> sites_;
  std::vector<Record> records_;
  GroupId group_ = 0;
};

TEST_F(CallSitesTest, EachSlotWithABubbleGetsOne) {
  begin("");
  iterate_until_both_have_one();
  finish();
  const auto found = frames();
  ASSERT_EQ(found.size(), 2U);
  for (const auto& [ordinal, stack] : found) {
    EXPECT_EQ(ordinal % 2, 1);
    EXPECT_GT(stack.size(), 2U);
    EXPECT_EQ(stack[0].kind, FrameKind::nvtx);
    EXPECT_EQ(stack[0].function, "forward");
    for (std::size_t i = 0; i < stack.size(); ++i) {
      EXPECT_EQ(stack[i].number, i == 0 ? 0 : i - 1);
      EXPECT_EQ(stack[i].rhythm, 5U);
      EXPECT_EQ((stack[i].group - 1) % 4, static_cast<GroupId>(ordinal));
      EXPECT_EQ(stack[i].group, stack[0].group);
    }
  }
  EXPECT_EQ(wanted_from, 0U);
  EXPECT_TRUE(notes().empty());
}

TEST_F(CallSitesTest, NoneIsAskedForInABubble) {
  begin("");
  for (int i = 0; i < 8; ++i) iterate(false);
  EXPECT_EQ(wanted_from, 0U);
  // One opens while some are asked for.
  look(true);
  EXPECT_NE(wanted_from, 0U);
  look(false);
  EXPECT_EQ(wanted_from, 0U);
  finish();
  ASSERT_EQ(notes().size(), 1U);
  EXPECT_NE(notes()[0].find("call sites: 2 of 2 slots have none"), std::string::npos) << notes()[0];
}

TEST_F(CallSitesTest, WithoutTheLibunwindThatIsNamedItIsSaidOnceAndThereAreSome) {
  begin("/absent");
  iterate_until_both_have_one();
  finish();
  EXPECT_EQ(notes(), std::vector<std::string>{"/absent is no libunwind: Weft reads native frames without it"});
}

TEST_F(CallSitesTest, WhatAnEarlierOpeningHasLeftIsForgotten) {
  begin("");
  for (int i = 0; i < 3; ++i) iterate(false);
  look(true);
  ASSERT_NE(wanted_from, 0U);
  const GroupId asked = wanted_from;
  sites_ = std::make_unique<CallSites>(parts_, *parts_.make_samples(device), shim_, device);
  wanted_from = parts_.call_returned(device, asked, "");
  EXPECT_EQ(wanted_from, 0U);
  iterate_until_both_have_one();
}

TEST_F(CallSitesTest, ADeviceThatNobodyKnowsHasNone) {
  EXPECT_EQ(parts_.call_returned(7, 1, ""), 0U);
  EXPECT_EQ(parts_.make_samples(64), nullptr);
  EXPECT_EQ(parts_.make_samples(-1), nullptr);
}

}  // namespace
}  // namespace weft
