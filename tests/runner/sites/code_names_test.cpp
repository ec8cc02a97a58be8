// Libraries and functions by addresses, held against what dladdr() says.
#include "runner/sites/code_names.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string_view>
#include <thread>

namespace weft {
namespace {

std::uintptr_t behind_the_beginning(const void* function) {
  return reinterpret_cast<std::uintptr_t>(function) + 1;
}

CodeName name_of(std::uintptr_t address) {
  return names_of_code(std::span(&address, 1)).at(address);
}

TEST(CodeNames, AreThoseOfDladdr) {
  for (const void* const function : {reinterpret_cast<const void*>(&::strtol), reinterpret_cast<const void*>(&::qsort),
                                     reinterpret_cast<const void*>(&::dl_iterate_phdr)}) {
    const std::uintptr_t address = behind_the_beginning(function);
    Dl_info info{};
    ASSERT_NE(::dladdr(reinterpret_cast<const void*>(address), &info), 0);
    const CodeName found = name_of(address);
    EXPECT_FALSE(found.file.empty());
    char* const real = ::realpath(info.dli_fname, nullptr);
    EXPECT_TRUE(std::string_view(real).ends_with("/" + found.file)) << found.file << " " << real;
    ::free(real);
    EXPECT_EQ(found.offset, address - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    void* const same = ::dlsym(RTLD_DEFAULT, found.symbol.c_str());  // of several names of one function any
    EXPECT_TRUE(found.symbol == info.dli_sname || same == info.dli_saddr) << found.symbol << " " << info.dli_sname;
  }
}

// Not exported.
[[gnu::noinline]] int a_function_of_this_file() {
  return 2;
}

TEST(CodeNames, OfThisProgramNeedNoExport) {
  const CodeName found = name_of(behind_the_beginning(reinterpret_cast<const void*>(&a_function_of_this_file)));
  EXPECT_NE(found.symbol.find("a_function_of_this_file"), std::string::npos) << found.symbol;
  EXPECT_EQ(found.file, "weft_sites_tests");
}

TEST(CodeNames, OfTheKernelsOwnLibraryAreItsFile) {
  const std::uintptr_t header = ::getauxval(AT_SYSINFO_EHDR);
  if (header == 0) GTEST_SKIP() << "no vdso here";
  const CodeName found = name_of(header + 1);
  EXPECT_EQ(found.file, "[vdso]");
  EXPECT_EQ(found.offset, 1U);
  EXPECT_EQ(found.symbol, "");
}

TEST(CodeNames, AreAddressesWhereNothingIsMapped) {
  const int local = 0;
  for (const std::uintptr_t address :
       {reinterpret_cast<std::uintptr_t>(&local), std::uintptr_t{0}, ~std::uintptr_t{0}}) {
    EXPECT_EQ(name_of(address).file, "");
    EXPECT_EQ(name_of(address).symbol, "");
    EXPECT_EQ(name_of(address).offset, address);
  }
  EXPECT_TRUE(names_of_code({}).empty());
}

// As a training does for each worker of its data loader: the child has no thread that could unlock anything.
TEST(CodeNames, LeaveForkedChildrenAble) {
  std::atomic<bool> over{false};
  const std::array<std::uintptr_t, 3> addresses{behind_the_beginning(reinterpret_cast<const void*>(&::strtol)),
                                                behind_the_beginning(reinterpret_cast<const void*>(&::dl_iterate_phdr)),
                                                behind_the_beginning(reinterpret_cast<const void*>(&name_of))};
  std::atomic<std::uint64_t> rounds{0};
  std::thread other([&] {
    for (; !over; ++rounds) names_of_code(addresses);
  });
  int stuck = 0;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      const bool loads = ::dlopen("libresolv.so.2", RTLD_NOW) != nullptr;
      ::dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 0; }, nullptr);
      ::_exit(loads ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << status;
    stuck += WIFSIGNALED(status) ? 1 : 0;
  }
  over = true;
  other.join();
  EXPECT_EQ(stuck, 0);
  EXPECT_GT(rounds, 0U);
}

}  // namespace
}  // namespace weft
