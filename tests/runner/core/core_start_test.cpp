// weft_core_start() as the shim calls it, on the built object: what it refuses and what it says.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>

#include "shim/seam/core_interface.h"
#include "shim/seam/ring.h"

namespace weft {
namespace {

struct CoreStartTest : ::testing::Test {
  WeftCoreStart start = nullptr;
  std::unique_ptr<EventRing> ring = std::make_unique<EventRing>();
  std::atomic<std::uint32_t> times_given_back{0};
  ShimServices shim;
  CoreServices core;

  void SetUp() override {
    void* const object = ::dlopen(WEFT_CORE, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(object, nullptr) << ::dlerror();
    start = reinterpret_cast<WeftCoreStart>(::dlsym(object, "weft_core_start"));
    ASSERT_NE(start, nullptr);
    shim.build_id = WEFT_BUILD_ID;
    shim.ring = ring.get();
    shim.set_marker_words = [](int, const MarkerWords&) {};
    shim.real_driver_symbol = [](const char*) -> void* { return nullptr; };
    shim.dropped_events = []() -> std::uint64_t { return 0; };
    shim.list_streams_to_ask = [](int, StreamId*, int) { return 0; };
    shim.ask_stream = [](int, StreamId) { return Answer{StreamAnswer::unknown}; };
    shim.turn_off = [](const char*) {};
    shim.full_table = []() -> const char* { return nullptr; };
    shim.streams_made = [](int) -> std::uint32_t { return 0; };
    shim.streams_in_use = [](int) -> std::uint32_t { return 0; };
    shim.is_idle = [](int) { return true; };
    shim.mark_own_thread = [] {};
    shim.want_quiet_moments = [](bool) {};
    shim.memory_reserved = [](int) {};
    shim.times_given_back = &times_given_back;
  }
  // When it refuses.
  std::string said() {
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(start(&shim, &core));
    return ::testing::internal::GetCapturedStderr();
  }
};

constexpr const char* other_build =
    "weft: error: libweft.so and libweft-core.so are of different builds; Weft is off in this process\n";

TEST_F(CoreStartTest, AnotherBuildIsRefused) {
  shim.build_id = "another";
  EXPECT_EQ(said(), other_build);
  EXPECT_EQ(core.communicator_opened, nullptr);
}

TEST_F(CoreStartTest, ADriverWithoutTheFunctionsIsRefusedInOneLine) {
  const std::string text = said();
  EXPECT_TRUE(text.starts_with("weft: error: this CUDA driver lacks cuGetErrorName, ")) << text;
  EXPECT_TRUE(text.ends_with("; Weft is off in this process\n")) << text;
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST_F(CoreStartTest, NothingIsSaidWhenWeftIsOff) {
  ::setenv("WEFT", "off", 1);
  EXPECT_EQ(said(), "");
  ::unsetenv("WEFT");
}

}  // namespace
}  // namespace weft
