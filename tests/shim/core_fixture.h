// Common to the tests under the preloaded shim: the test core that it has loaded, and the events that this received.
// Whichever driver is below. Each test runs in a process of its own (ctest does so), since a core is loaded
// once.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/shim/fake/test_core.h"

class CoreTest : public testing::Test {
 protected:
  // The core that the shim has loaded; nullptr: none.
  static void* core_handle() { return dlopen(TEST_CORE, RTLD_NOW | RTLD_NOLOAD); }
  static TestCore* core() {
    auto* find = reinterpret_cast<TestCore* (*)()>(symbol("test_core"));
    return find == nullptr ? nullptr : find();
  }
  static void* symbol(const char* name) { return core_handle() == nullptr ? nullptr : dlsym(core_handle(), name); }

  // Events since the last call, in order.
  static std::vector<weft::Event> events() {
    auto* pop = reinterpret_cast<bool (*)(weft::Event*)>(symbol("test_core_pop"));
    std::vector<weft::Event> taken;
    weft::Event next{};
    while (pop != nullptr && pop(&next)) taken.push_back(next);
    return taken;
  }
};
