// The exported names: those of the toolkit's library, each twice at one address; which of them the library calls
// through the procedure linkage table. This program exports hooks of its own to see that.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <string>

namespace {

int broadcasts_seen = 0;
int sends_seen = 0;

// "T name" or "W name" for every nccl and pncclX name that a library defines.
std::set<std::string> exports(const std::string& library) {
  std::set<std::string> names;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((NM " -D --defined-only '" + library + "'").c_str(), "r"),
                                                   pclose);
  std::array<char, 1024> line;
  while (fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    char kind = 0;
    std::array<char, 512> name{};
    if (std::sscanf(line.data(), "%*x %c %511s", &kind, name.data()) != 2) continue;
    const std::string text = name.data();
    if (text.rfind("nccl", 0) == 0 || text.rfind("pnccl", 0) == 0) names.insert(kind + (" " + text));
  }
  return names;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t,
                                                                             int, ncclComm_t, cudaStream_t) {
  ++broadcasts_seen;
  return ncclSuccess;
}

extern "C" __attribute__((visibility("default"))) ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int,
                                                                        ncclComm_t, cudaStream_t) {
  ++sends_seen;
  return ncclSuccess;
}

// Functions of NCCL 2.29 to 2.31, which the toolkit's library may be too old for.
std::set<std::string> newer_exports() {
  std::set<std::string> names;
  for (const char* name : {"PutSignal", "Signal", "WaitSignal", "CommGetUniqueId", "CommGrow", "CommSuspend",
                           "CommResume", "AllReduceConfig", "ReduceConfig", "BroadcastConfig", "ReduceScatterConfig",
                           "AllGatherConfig", "AlltoAllConfig", "GatherConfig", "ScatterConfig"}) {
    names.insert(std::string("W nccl") + name);
    names.insert(std::string("T pnccl") + name);
  }
  return names;
}

TEST(Exports, EqualToTheRealLibrary) {
  std::set<std::string> simulated = exports(SIMULATED_NCCL);
  ASSERT_GT(simulated.size(), 80u);
  if (std::string(REAL_NCCL).empty()) GTEST_SKIP() << "the toolkit has no libnccl.so.2";
  const std::set<std::string> real = exports(REAL_NCCL);
  for (const std::string& name : newer_exports()) {
    EXPECT_EQ(simulated.count(name), 1u) << name;
    if (real.count(name) == 0) simulated.erase(name);
  }
  EXPECT_EQ(simulated, real);
}

TEST(Exports, WeakAndStrongNamesAreOneAddress) {
  void* library = dlopen(SIMULATED_NCCL, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  int pairs = 0;
  for (const std::string& entry : exports(SIMULATED_NCCL)) {
    if (entry.rfind("W ", 0) != 0) continue;
    const std::string name = entry.substr(2);
    EXPECT_EQ(dlsym(library, name.c_str()), dlsym(library, ("p" + name).c_str())) << name;
    ++pairs;
  }
  EXPECT_GT(pairs, 40);
}

TEST(Exports, BcastCallsTheExportedBroadcast) {
  broadcasts_seen = 0;
  EXPECT_EQ(ncclBcast(nullptr, 1, ncclInt8, 0, nullptr, nullptr), ncclSuccess);
  EXPECT_EQ(broadcasts_seen, 1);
}

TEST(Exports, GroupsOfSendsDoNotCallTheExportedSend) {
  sends_seen = 0;
  EXPECT_EQ(ncclScatter(nullptr, nullptr, 1, ncclInt8, 0, nullptr, nullptr), ncclInvalidArgument);
  EXPECT_EQ(sends_seen, 0);
}
