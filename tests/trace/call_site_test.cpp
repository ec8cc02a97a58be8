// Call sites as readers have them: by slot, with their texts.
#include "trace/read/call_site.h"

#include <gtest/gtest.h>

#include "trace/read/slot_totals.h"

namespace weft {
namespace {

CallFrameRecord frame(FrameKind kind, std::uint32_t number, const char* function, const char* file) {
  CallFrameRecord made;
  made.rhythm = 7;
  made.ordinal = 3;
  made.kind = kind;
  made.number = number;
  made.function = std::string_view(function);
  made.file = std::string_view(file);
  return made;
}

TEST(CallSite, HasTextsWithAndWithoutFolders) {
  const CallFrame python{FrameKind::python, "forward_step", "/home/me/train.py", 120, 0};
  EXPECT_EQ(text_of(python, true), "/home/me/train.py:120 forward_step");
  EXPECT_EQ(text_of(python, false), "train.py:120 forward_step");
  const CallFrame native{FrameKind::native, "c10d::send(int)", "libtorch_cuda.so", 0, 0x1f};
  EXPECT_EQ(text_of(native, false), "libtorch_cuda.so+0x1f c10d::send(int)");
  EXPECT_EQ(text_of({FrameKind::nvtx, "forward-recv", "", 0, 0}, false), "NVTX range forward-recv");
  EXPECT_EQ(text_of({FrameKind::native, "", "", 0, 0x10}, true), "?+0x10");
  EXPECT_EQ(text_of({FrameKind::python, "", "", 0, 0}, true), "?");
  EXPECT_EQ(text_of({FrameKind::python, "f\x1b[31m", "a\n.py", 1, 0}, true), "a\\x0a.py:1 f\\x1b[31m");
}

TEST(CallSite, HasPythonFirstAndIsFoundBySlot) {
  CallSiteTable table;
  table.add(frame(FrameKind::native, 0, "inner", "a.so"));
  table.add(frame(FrameKind::native, 1, "outer", "a.so"));
  table.add(frame(FrameKind::python, 0, "step", "b.py"));
  const CallSite* const site = table.find({7, 3}, Cause::receive);
  ASSERT_NE(site, nullptr);
  ASSERT_EQ(site->size(), 3U);
  EXPECT_EQ((*site)[0].function, "step");
  EXPECT_EQ((*site)[1].function, "inner");
  EXPECT_EQ((*site)[2].function, "outer");
  EXPECT_EQ(table.find({7, 4}, Cause::receive), nullptr);
  EXPECT_EQ(table.find({8, 3}, Cause::receive), nullptr);
}

TEST(CallSite, HasABoundAndNeedsASlot) {
  CallSiteTable table;
  CallFrameRecord many = frame(FrameKind::native, 0, "f", "a.so");
  for (int i = 0; i < 1000; ++i) table.add(many);
  EXPECT_EQ(table.find({7, 3}, Cause::receive)->size(), 64U);
  for (many.ordinal = 10; many.ordinal < 10000; ++many.ordinal) table.add(many);
  EXPECT_EQ(table.find({7, 9999}, Cause::receive), nullptr);
  many.ordinal = -1;
  table.add(many);
  EXPECT_EQ(table.find({7, -1}, Cause::receive), nullptr);
}

Bubble bubble(std::uint64_t rhythm, std::int32_t ordinal) {
  Bubble made;
  made.rhythm = rhythm;
  made.slot.ordinal = ordinal;
  made.opened = TimePoint(Duration(10));
  made.closed = TimePoint(Duration(20));
  return made;
}

// The rhythm of the first bubbles may have none.
TEST(CallSite, GoesToTheSlotOfItsBubbles) {
  SlotTable slots;
  for (const std::uint64_t rhythm : {5U, 7U}) slots.add(bubble(rhythm, 3));
  slots.add(bubble(7, 4));
  slots.add(frame(FrameKind::python, 0, "step", "b.py"));
  for (const SlotTotals& slot : slots.totals()) {
    EXPECT_EQ(slot.call_site.size(), slot.slot.ordinal == 3 ? 1U : 0U);
  }
  EXPECT_EQ(slots.totals_without_places().size(), 1U);
  EXPECT_TRUE(slots.totals_without_places()[0].call_site.empty());
}

// That the training says itself, in a slot whose group has one.
TEST(CallSite, GoesToNoBubbleOfTheSchedule) {
  SlotTable slots;
  Bubble said = bubble(7, 3);
  said.cause = Cause::schedule;
  slots.add(said);
  slots.add(bubble(7, 3));
  slots.add(frame(FrameKind::python, 0, "step", "b.py"));
  ASSERT_EQ(slots.totals().size(), 2U);
  for (const SlotTotals& slot : slots.totals()) EXPECT_EQ(slot.call_site.empty(), slot.cause == Cause::schedule);
}

}  // namespace
}  // namespace weft
