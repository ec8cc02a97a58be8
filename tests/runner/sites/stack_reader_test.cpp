// Stacks of this thread: what is read, what is not, and what is left as it was.
#include "runner/sites/stack_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>

#include "runner/sites/frame_names.h"

namespace weft {
namespace {

const StackReader& loaded_reader() {
  static StackReader reader;
  [[maybe_unused]] static const auto missing = reader.load("");
  return reader;
}

CallStack stack;  // not on the small stack of a handler

bool has_function(const std::vector<CallFrameRecord>& frames, std::string_view function) {
  return std::any_of(frames.begin(), frames.end(), [&](const CallFrameRecord& frame) {
    return std::string_view(frame.function).find(function) != std::string_view::npos;
  });
}

}  // namespace

// Exported, so that it has a name.
[[gnu::noinline, gnu::visibility("default")]] bool read_in_a_known_function() {
  const bool was_read = loaded_reader().read(stack);
  errno = was_read ? EDOM : ERANGE;  // so that this is no tail call
  return was_read;
}

namespace {

TEST(StackReader, FindsTheCallersByName) {
  if (!loaded_reader().reads_anything()) GTEST_SKIP() << "no libunwind here";
  ASSERT_TRUE(read_in_a_known_function());
  ASSERT_GT(stack.frames, 3U);
  const auto frames = named_frames(stack, "");
  EXPECT_TRUE(has_function(frames, "weft::read_in_a_known_function()"));
  EXPECT_EQ(stack.text_bytes, 0U) << "there is no Python in this process";
  for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(frames[i].number, i);
}

TEST(StackReader, KeepsErrno) {
  loaded_reader().read(stack);
  errno = EXDEV;
  loaded_reader().read(stack);
  EXPECT_EQ(errno, EXDEV);
}

TEST(StackReader, SaysWhyThereAreNoNativeFrames) {
  StackReader absent;
  const auto missing = absent.load("/absent/libunwind.so");
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0], "/absent/libunwind.so is no libunwind: call sites have no native frames");
  EXPECT_FALSE(absent.reads_anything());
  EXPECT_TRUE(absent.read(stack));
  EXPECT_EQ(stack.frames, 0U);
  StackReader another;
  EXPECT_EQ(another.load("libm.so.6").size(), 1U) << "a library that is none";
}

bool read_in_handler = true;
void handle(int) {
  read_in_handler = loaded_reader().read(stack);
}

TEST(StackReader, ReadsNothingInAHandlerWithAStackOfItsOwn) {
  loaded_reader();
  static std::array<char, 64 * 1024> own_stack;
  stack_t handler_stack{};
  handler_stack.ss_sp = own_stack.data();
  handler_stack.ss_size = own_stack.size();
  stack_t before{};
  ASSERT_EQ(::sigaltstack(&handler_stack, &before), 0);
  struct sigaction action {
  }, action_before{};
  action.sa_handler = &handle;
  action.sa_flags = SA_ONSTACK;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &action_before), 0);
  ::raise(SIGUSR1);
  EXPECT_FALSE(read_in_handler);
  EXPECT_TRUE(loaded_reader().read(stack));
  ::sigaction(SIGUSR1, &action_before, nullptr);
  ::sigaltstack(&before, nullptr);
}

struct ReadsWhenItGoes {
  bool* was_read;
  ~ReadsWhenItGoes() { *was_read = loaded_reader().read(stack); }
};

TEST(StackReader, ReadsNothingWhileAnExceptionIsUnderWay) {
  bool was_read = true;
  try {
    const ReadsWhenItGoes guard{&was_read};
    throw 1;
  } catch (int) {
  }
  EXPECT_FALSE(was_read);
}

}  // namespace
}  // namespace weft
