// Libraries and functions by addresses, held against what dladdr() says.
#include "runner/sites/loaded_code.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <math.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <atomic>
#include <string_view>
#include <thread>

namespace weft {

[[gnu::visibility("default")]] int a_function_of_the_test() {
  return 1;
}

namespace {

const char* behind_the_beginning(const void* function) {
  return static_cast<const char*>(function) + 1;
}

TEST(LoadedCode, IsThatOfDladdr) {
  for (const void* const function :
       {reinterpret_cast<const void*>(&::strtol), reinterpret_cast<const void*>(&::free),
        reinterpret_cast<const void*>(&::dlopen), reinterpret_cast<const void*>(&a_function_of_the_test)}) {
    const char* const address = behind_the_beginning(function);
    Dl_info info{};
    ASSERT_NE(::dladdr(address, &info), 0);
    const auto found = find_loaded_code(address);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(std::string_view(info.dli_fname).ends_with(found->file)) << found->file;
    EXPECT_FALSE(found->file.empty());
    EXPECT_EQ(found->offset, static_cast<std::uint64_t>(address - static_cast<const char*>(info.dli_fbase)));
    ASSERT_NE(info.dli_sname, nullptr);
    void* const same = ::dlsym(RTLD_DEFAULT, found->symbol.c_str());  // of several names of one function any
    EXPECT_TRUE(found->symbol == info.dli_sname || same == info.dli_saddr) << found->symbol << " " << info.dli_sname;
  }
}

TEST(LoadedCode, OfTheKernelsOwnLibraryHasAName) {
  const auto* const header = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
  if (header == nullptr) GTEST_SKIP() << "no vdso here";
  const auto found = find_loaded_code(header + 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->offset, 1U);
  EXPECT_TRUE(found->file.starts_with("linux-")) << found->file;
  EXPECT_EQ(found->symbol, "");
}

TEST(LoadedCode, IsNoneWhereNothingIsLoaded) {
  const int local = 0;
  EXPECT_FALSE(find_loaded_code(&local).has_value());
  EXPECT_FALSE(find_loaded_code(nullptr).has_value());
  EXPECT_FALSE(find_loaded_code(reinterpret_cast<const void*>(~std::uintptr_t{0})).has_value());
}

// A library goes and comes while its names are looked for.
TEST(LoadedCode, MayBeUnloadedMeanwhile) {
  void* library = ::dlopen(WEFT_TEST_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const char* const address = behind_the_beginning(::dlsym(library, "a_function_that_goes"));
  ASSERT_EQ(find_loaded_code(address)->symbol, "a_function_that_goes");
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      ::dlclose(library);
      library = ::dlopen(WEFT_TEST_LIBRARY, RTLD_NOW);
    }
  });
  for (int i = 0; i < 200000; ++i) {
    const auto found = find_loaded_code(address);
    if (!found || found->symbol.empty()) continue;  // at its address there may be another one meanwhile
    EXPECT_EQ(found->symbol, "a_function_that_goes");
  }
  over = true;
  other.join();
  ::dlclose(library);
}

}  // namespace
}  // namespace weft
