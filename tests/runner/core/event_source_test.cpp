// The events of one device, from the ring and from the words.
#include "runner/core/event_source.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "shim/seam/ring.h"
#include "tests/shim/push.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

Event group_at(TimePoint time) {
  Event issued{};
  issued.time = time;
  issued.kind = EventKind::group_issued;
  issued.stream = 1;
  issued.group = 1;
  issued.ticket = 1;
  issued.done_ticket = 2;
  return issued;
}

class EventSourceTest : public ::testing::Test {
 protected:
  EventSource make() { return EventSource(shim, router, MarkerWords{words.data(), 0, 8}, 0); }

  const std::unique_ptr<EventRing> ring = std::make_unique<EventRing>();
  EventRouter router{*ring};
  ShimServices shim{.dropped_events = [] { return std::uint64_t{0}; }};
  std::array<MarkerWord, 8> words{};
  EventSource source = make();
};

TEST_F(EventSourceTest, AMarkerWrittenBetweenTwoLooksIsDatedInTheMiddle) {
  ASSERT_TRUE(push(*ring, group_at(TimePoint(1us))));
  ASSERT_EQ(source.gather(TimePoint(2us), [] { return TimePoint(2us); }).size(), 1U);
  words[1] = 1;
  const std::vector<Event>& seen = source.gather(TimePoint(6us), [] { return TimePoint(6us); });
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].kind, EventKind::group_started);
  EXPECT_EQ(seen[0].time, TimePoint(4us));
}

TEST_F(EventSourceTest, AMarkerMayHaveBeenWrittenUntilItWasReadByAThreadThatGotNoProcessor) {
  ASSERT_TRUE(push(*ring, group_at(TimePoint(1us))));
  source.gather(TimePoint(2us), [] { return TimePoint(4us); });
  words[1] = 1;
  const std::vector<Event>& seen = source.gather(TimePoint(6us), [] { return TimePoint(90us); });
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].time, TimePoint(46us)) << "since the look that began at 2 us";
  EXPECT_EQ(source.time_of_look(), TimePoint(46us));
  EXPECT_EQ(source.uncertainty_of_look(), 44us);
  EXPECT_EQ(source.end_of_look(), TimePoint(90us));
}

TEST_F(EventSourceTest, AMarkerIsNotSeenBeforeTheEventThatAnnouncesIt) {
  source.begin(TimePoint(2us));
  ASSERT_TRUE(push(*ring, group_at(TimePoint(5us))));
  words[1] = 1;
  const std::vector<Event>& seen = source.gather(TimePoint(4us), [] { return TimePoint(6us); });
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[1].kind, EventKind::group_started);
  EXPECT_EQ(seen[1].time, TimePoint(5us));
}

TEST_F(EventSourceTest, AnnotationsThatWereNotHeardCountFromWhenItWasMade) {
  static UnheardAnnotations told;
  told = {5, 7};
  shim.unheard_annotations = [] { return told; };
  const EventSource made_now = make();
  EXPECT_EQ(made_now.unheard_annotations().held_back, 0U);
  told = {6, 9};
  EXPECT_EQ(made_now.unheard_annotations().held_back, 1U);
  EXPECT_EQ(made_now.unheard_annotations().refused, 2U);
}

}  // namespace
}  // namespace weft
