// Every hook hands on to the real function what it was called with, and returns what that answers. Two arguments of one
// type that change places would be found by no compiler.
//
// Runs under the preload with a driver and an NCCL that write down how they are called (recorder.S), before any
// communicator is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "shim/routing/vendor.h"

// Written by recorder.S: the name of the function, its registers, and words of its stack.
struct RecordedCall {
  const char* name;
  std::uint64_t registers[6];
  std::uint64_t stack[24];
};
extern "C" {
[[gnu::visibility("default")]] RecordedCall recorded_calls[64];
[[gnu::visibility("default")]] std::uint32_t calls_recorded;
[[gnu::visibility("default")]] int recorded_answer;
}

namespace {

// Hooks follow pointers to here, and find zeros. As arguments, no two are alike.
alignas(64) unsigned char memory[32][4096];

template <class Argument>
Argument argument(std::size_t index) {
  Argument made{};
  if constexpr (std::is_pointer_v<Argument>) {
    unsigned char* const place = memory[index];
    std::memcpy(&made, &place, sizeof(place));
  } else if constexpr (std::is_integral_v<Argument> || std::is_enum_v<Argument>) {
    made = static_cast<Argument>(index + 65);
  } else {
    std::memset(&made, static_cast<int>(index + 65), sizeof(made));
  }
  return made;
}

// Where the calling convention puts the arguments, from the first one on.
class Arrived {
 public:
  explicit Arrived(const RecordedCall& call) : call_(call) {}
  template <class Argument>
  bool has(const Argument& passed) {
    static_assert(!std::is_floating_point_v<Argument> && (!std::is_class_v<Argument> || sizeof(Argument) > 16));
    const void* place = nullptr;
    if (std::is_class_v<Argument> || registers_ == 6) {
      place = call_.stack + words_;
      words_ += (sizeof(Argument) + 7) / 8;
    } else {
      place = call_.registers + registers_++;
    }
    return std::memcmp(place, &passed, sizeof(passed)) == 0;
  }

 private:
  const RecordedCall& call_;
  std::size_t registers_ = 0, words_ = 0;
};

template <class Result, class... Arguments, std::size_t... index>
void expect_forwarded(const char* name, Result (*hook)(Arguments...), int answer, std::index_sequence<index...>) {
  calls_recorded = 0;
  recorded_answer = answer;
  const auto result = [&] { return hook(argument<Arguments>(index)...); };
  if constexpr (std::is_same_v<Result, const char*>)
    result();
  else
    EXPECT_EQ(static_cast<int>(result()), answer) << name;
  // On the way a hook may ask the driver for something as well.
  const std::span<const RecordedCall> calls(recorded_calls, calls_recorded);
  const auto call = std::find_if(calls.begin(), calls.end(),
                                 [&](const RecordedCall& each) { return std::string(name) == each.name; });
  ASSERT_NE(call, calls.end()) << name << " is not called";
  Arrived arrived(*call);
  const bool same[] = {true, arrived.has(argument<Arguments>(index))...};
  for (std::size_t i = 1; i < std::size(same); ++i) EXPECT_TRUE(same[i]) << "argument " << i << " of " << name;
}

template <class Result, class... Arguments>
void expect_forwarded(const char* name, Result (*hook)(Arguments...), int answer) {
  expect_forwarded(name, hook, answer, std::index_sequence_for<Arguments...>{});
}

// It looks other functions up, and is tested in routing/.
bool looks_up(const std::string& name) {
  return name.starts_with("cuGetProcAddress");
}

constexpr int cuda_answers[] = {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE};
constexpr int nccl_answers[] = {ncclInvalidArgument, ncclSystemError};

TEST(Hooks, HandOnWhatTheyGet) {
#define CALL(library, name, presence)
#define HOOK(library, name, presence, ...)      \
  for (const int answer : library##_answers) { \
    if (!looks_up(#name)) expect_forwarded(#name, &::name, answer); \
  }
#include "shim/hooks.def"
#undef HOOK
#undef CALL
}

}  // namespace
