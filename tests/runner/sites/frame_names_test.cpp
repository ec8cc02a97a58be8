// Frames as they go into the trace.
#include "tests/runner/sites/named.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace weft {
namespace {

CallStack stack_with(std::initializer_list<void*> addresses, const std::string& text) {
  CallStack stack{};
  std::copy(addresses.begin(), addresses.end(), stack.addresses.begin());
  stack.frames = static_cast<std::uint32_t>(addresses.size());
  stack.text_bytes = static_cast<std::uint32_t>(std::min(text.size(), CallStack::most_text));
  std::memcpy(stack.text.data(), text.data(), stack.text_bytes);
  return stack;
}

void* behind_the_beginning(const void* function) {
  return const_cast<char*>(static_cast<const char*>(function) + 1);
}

TEST(FrameNames, NameLibraryFunctionAndOffset) {
  const auto frames = named(stack_with({behind_the_beginning(reinterpret_cast<void*>(&::strtol))}, ""), "");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].kind, FrameKind::native);
  EXPECT_NE(std::string_view(frames[0].function).find("strtol"), std::string_view::npos);
  EXPECT_EQ(std::string_view(frames[0].file).find('/'), std::string_view::npos);
  EXPECT_GT(frames[0].offset, 0U);
  EXPECT_EQ(frames[0].line, 0U);
}

TEST(FrameNames, GiveAnAddressOfNoLibraryAsItIs) {
  static const char data[] = "no code";
  void* const stack_address = const_cast<char*>(data);
  const auto frames = named(stack_with({reinterpret_cast<void*>(0x1235), stack_address}, ""), "");
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].offset, 0x1234U);
  EXPECT_TRUE(frames[0].file.empty());
  EXPECT_TRUE(frames[0].function.empty());
}

TEST(FrameNames, HaveABoundOfEachKind) {
  CallStack stack{};
  stack.frames = CallStack::most_frames;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "  File \"a.py\", line 1 in f\n";
  std::memcpy(stack.text.data(), text.data(), text.size());
  stack.text_bytes = static_cast<std::uint32_t>(text.size());
  const auto frames = named(stack, "forward-recv");
  ASSERT_EQ(frames.size(), 1 + 2 * most_named_frames);
  EXPECT_EQ(frames[0].kind, FrameKind::nvtx);
  EXPECT_EQ(frames[0].function, "forward-recv");
  EXPECT_EQ(frames[1].number, 0U);
  EXPECT_EQ(frames[most_named_frames].kind, FrameKind::python);
  EXPECT_EQ(frames[most_named_frames].number, most_named_frames - 1);
  EXPECT_EQ(frames[most_named_frames + 1].kind, FrameKind::native);
  EXPECT_EQ(frames[most_named_frames + 1].number, 0U);
}

TEST(FrameNames, KeepTheEndOfALongPath) {
  const std::string path = std::string(500, 'x') + "/train.py";
  const auto frames = named(stack_with({}, "  File \"" + path + "\", line 5 in " + std::string(300, 'f') + "\n"), "");
  ASSERT_EQ(frames.size(), 1U);
  const std::string_view file = frames[0].file;
  EXPECT_EQ(file.size(), decltype(frames[0].file)::capacity);
  EXPECT_TRUE(file.ends_with("/train.py"));
  EXPECT_EQ(frames[0].line, 5U);
}

}  // namespace
}  // namespace weft
