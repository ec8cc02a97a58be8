// Stacks of this thread: what is read, what is not, and what is left as it was.
#include "runner/sites/stack_reader.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <future>
#include <string>
#include <string_view>
#include <thread>

#include "tests/runner/open_descriptors.h"
#include "tests/runner/sites/named.h"

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

[[gnu::noinline]] bool read_in_a_known_function() {
  const bool was_read = loaded_reader().read(stack);
  errno = was_read ? EDOM : ERANGE;  // so that this is no tail call
  return was_read;
}

namespace {

TEST(StackReader, FindsTheCallersByName) {
  ASSERT_TRUE(read_in_a_known_function());
  ASSERT_GT(stack.frames, 3U);
  const auto frames = named(stack, "");
  EXPECT_TRUE(has_function(frames, "weft::read_in_a_known_function()"));
  EXPECT_EQ(stack.text_bytes, 0U) << "there is no Python in this process";
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].number, i);
    EXPECT_FALSE(frames[i].file.empty()) << "behind the outermost frame there is none";
  }
}

TEST(StackReader, KeepsErrno) {
  loaded_reader().read(stack);
  errno = EXDEV;
  loaded_reader().read(stack);
  EXPECT_EQ(errno, EXDEV);
}

TEST(StackReader, ReadsNothingBeforeItIsLoaded) {
  StackReader reader;
  EXPECT_FALSE(reader.is_loaded());
  EXPECT_FALSE(reader.read(stack)) << "a look that brought nothing counts as none";
  EXPECT_EQ(stack.frames, 0U);
}

TEST(StackReader, ReadsWithoutTheLibunwindThatIsNamed) {
  for (const char* const path : {"/absent/libunwind.so", "libm.so.6"}) {
    StackReader reader;
    EXPECT_EQ(reader.load(path),
              std::vector<std::string>{std::string(path) + " is no libunwind: Weft reads native frames without it"});
    EXPECT_TRUE(reader.read(stack));
    EXPECT_GT(stack.frames, 3U);
  }
}

TEST(StackReader, ReadsByTheLibunwindThatIsNamed) {
  StackReader reader;
  if (!reader.load("libunwind.so.8").empty()) GTEST_SKIP() << "no libunwind.so.8 here";
  ASSERT_TRUE(reader.read(stack));
  EXPECT_GT(stack.frames, 3U);
}

// A program that closes all descriptors, and opens others, is not to find its own written to.
TEST(StackReader, LeavesNoFileOpenAndLoadsNothing) {
  const auto libraries = [] {
    int count = 0;
    ::dl_iterate_phdr([](dl_phdr_info*, std::size_t, void* sum) { return ++*static_cast<int*>(sum), 0; }, &count);
    return count;
  };
  const auto before = testing::open_descriptors();
  const int loaded = libraries();
  StackReader reader;
  reader.load("");
  for (int i = 0; i < 3; ++i) std::thread([&] { EXPECT_TRUE(reader.read(stack)); }).join();
  EXPECT_EQ(testing::open_descriptors(), before);
  EXPECT_EQ(libraries(), loaded);
}

// One thread may stand in a callback of the loader for long; that of a training that calls NCCL is not to wait for it.
TEST(StackReader, OfTheCoreTakesNoLockOfTheLoader) {
  if (std::string_view(::gnu_get_libc_version()) < "2.35") GTEST_SKIP() << "before glibc 2.35 it does";
  void* const library = ::dlopen(WEFT_STACK_MODULE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto frames = reinterpret_cast<unsigned (*)()>(::dlsym(library, "frames_of_this_stack"));
  ASSERT_NE(frames, nullptr);
  ASSERT_GT(frames(), 3U);
  std::promise<unsigned> result;
  std::thread reader;
  const auto read_beside = [&] {
    reader = std::thread([&] { result.set_value(frames()); });
    return result.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  };
  bool has_read = false;
  const auto callback = [&](dl_phdr_info*, std::size_t) { return has_read = read_beside(), 1; };
  ::dl_iterate_phdr([](dl_phdr_info* object, std::size_t size,
                       void* data) { return (*static_cast<const decltype(callback)*>(data))(object, size); },
                    const_cast<void*>(static_cast<const void*>(&callback)));
  reader.join();
  EXPECT_TRUE(has_read);
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
  ~ReadsWhenItGoes() { EXPECT_TRUE(read_in_a_known_function()); }
};

TEST(StackReader, ReadsWhileAnExceptionIsUnderWay) {
  try {
    const ReadsWhenItGoes guard;
    throw 1;
  } catch (int) {
  }
  EXPECT_TRUE(has_function(named(stack, ""), "weft::read_in_a_known_function()"));
}

}  // namespace
}  // namespace weft
