// One rule of the loader per command; run under the preloaded library by ctest. Status 0: as it should be.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "shim/routing/vendor.h"

// As a program that was linked long ago asks for it.
extern "C" void* dlsym_of_2_2_5(void* handle, const char* name);
__asm__(".symver dlsym_of_2_2_5, dlsym@GLIBC_2.2.5");

namespace {

int failures = 0;
#define EXPECT(condition)                                                             \
  do {                                                                                \
    if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition), ++failures; \
  } while (false)

std::string object_of(const void* address) {
  Dl_info info;
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "nothing";
  const std::string path = info.dli_fname;
  return path.substr(path.find_last_of('/') + 1);
}
template <class Function>
bool is_hook(Function address) {
  return object_of(reinterpret_cast<const void*>(address)) == "libweft.so";
}

void* driver() {
  return dlopen("libcuda.so.1", RTLD_NOW);
}
void* nccl() {
  return dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
}
bool core_loaded() {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[4096];
  bool found = false;
  while (std::fgets(line, sizeof(line), maps) != nullptr) found |= std::strstr(line, "libweft-core.so") != nullptr;
  std::fclose(maps);
  return found;
}

using Gpa = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

void* entry_point(const char* name, int version, cuuint64_t flags) {
  const auto gpa = reinterpret_cast<Gpa>(dlsym(driver(), "cuGetProcAddress_v2"));
  void* found = nullptr;
  return gpa(name, &found, version, flags, nullptr) == CUDA_SUCCESS ? found : nullptr;
}

void by_handle() {
  EXPECT(is_hook(dlsym(driver(), "cuEventRecord")));
  EXPECT(is_hook(dlsym(driver(), "cuEventRecord_ptsz")));
  EXPECT(dlsym(driver(), "cuEventRecord") != dlsym(driver(), "cuEventRecord_ptsz"));
  EXPECT(is_hook(dlsym(driver(), "cuLaunchKernel")));
  EXPECT(object_of(dlsym(driver(), "cuEventCreate")) == "libcuda.so.1");
  EXPECT(dlsym(driver(), "cuNoSuchFunction") == nullptr);
  EXPECT(dlerror() != nullptr);
  EXPECT(dlerror() == nullptr);
  EXPECT(is_hook(dlsym(nccl(), "ncclSend")));
  EXPECT(dlerror() == nullptr);
  EXPECT(object_of(dlsym(nccl(), "pncclSend")) == "libnccl.so.2");
  EXPECT(dlsym(nccl(), "ncclCommShrink") == nullptr);  // hooked, but this NCCL has none
}

void by_entry_point() {
  EXPECT(entry_point("cuEventRecord", 12000, 0) == dlsym(driver(), "cuEventRecord"));
  EXPECT(entry_point("cuEventRecord", 12000, 2) == dlsym(driver(), "cuEventRecord_ptsz"));
  EXPECT(entry_point("cuMemAlloc", 12000, 0) == dlsym(driver(), "cuMemAlloc_v2"));
  EXPECT(entry_point("cuCtxSynchronize", 12000, 0) == dlsym(driver(), "cuCtxSynchronize"));
  EXPECT(entry_point("cuCtxSynchronize", 13000, 0) == dlsym(driver(), "cuCtxSynchronize_v2"));
  EXPECT(entry_point("cuGetProcAddress", 12000, 0) == dlsym(driver(), "cuGetProcAddress_v2"));
  EXPECT(entry_point("cuLaunchKernel", 12000, 0) == dlsym(driver(), "cuLaunchKernel"));
  EXPECT(entry_point("cuLaunchKernel", 12000, 2) == dlsym(driver(), "cuLaunchKernel_ptsz"));
  EXPECT(object_of(entry_point("cuEventCreate", 12000, 0)) == "libcuda.so.1");
  EXPECT(entry_point("", 0, 0) == nullptr);
  EXPECT(entry_point("cuNoSuchFunction", 12000, 0) == nullptr);
}

void by_default_absent() {
  EXPECT(dlsym(RTLD_DEFAULT, "ncclSend") == nullptr);
  EXPECT(dlerror() != nullptr);
  EXPECT(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == nullptr);
  EXPECT(dlsym(dlopen(nullptr, RTLD_NOW), "cuMemAlloc_v2") == nullptr);
  EXPECT(dlsym(RTLD_DEFAULT, "getppid") != nullptr);
  EXPECT(dlsym(RTLD_NEXT, "getppid") != nullptr);
}

// Another interposer may get at libc's own dlsym: programs that look a name up in the whole process must not take our
// entries for the driver.
void by_libc() {
  using Look = void* (*)(void*, const char*);
  const auto look = reinterpret_cast<Look>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  EXPECT(look != nullptr && !is_hook(look));
  EXPECT(look(RTLD_DEFAULT, "cuMemAlloc_v2") == nullptr);
  EXPECT(look(RTLD_NEXT, "ncclSend") == nullptr);
  EXPECT(look(dlopen(nullptr, RTLD_NOW), "cuMemAlloc_v2") == nullptr);
  EXPECT(is_hook(look(RTLD_DEFAULT, "dlsym")));
  EXPECT(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr);
  EXPECT(object_of(look(RTLD_DEFAULT, "cuMemAlloc_v2")) == "libcuda.so.1");
}

void by_default_present() {
  EXPECT(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr);
  EXPECT(is_hook(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2")));
  EXPECT(is_hook(dlsym(dlopen(nullptr, RTLD_NOW), "cuMemAlloc_v2")));
}

void* plugin(int flags) {
  return dlopen(SHIM_PLUGIN, RTLD_NOW | flags);
}
int communicate(void* handle) {
  auto* run = handle == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(handle, "plugin_communicate"));
  return run == nullptr ? -1 : run();
}

void local_nccl() {
  void* handle = plugin(RTLD_LOCAL);
  auto* look = reinterpret_cast<void* (*)(const char*)>(dlsym(handle, "plugin_default"));
  EXPECT(is_hook(look("ncclSend")));
  EXPECT(dlsym(RTLD_DEFAULT, "ncclSend") == nullptr);  // not in the program's own scope
  EXPECT(communicate(handle) == 0);
  EXPECT(core_loaded());
}

// POSIX: whether a symbol was found is told by dlerror() alone.
void absent_in_a_plugin() {
  auto* look = reinterpret_cast<void* (*)(const char*)>(dlsym(plugin(RTLD_LOCAL), "plugin_default"));
  dlerror();
  EXPECT(look("ncclCommShrink") == nullptr);
  EXPECT(dlerror() != nullptr);
  EXPECT(look("ncclSend") != nullptr);
  EXPECT(dlerror() == nullptr);
}

// Another copy, opened by its path, is looked into before anybody has called the one that the plug-in is linked to.
void second_copy() {
  void* handle = plugin(RTLD_LOCAL);
  void* copy = dlopen(SHIM_SECOND_NCCL, RTLD_NOW | RTLD_LOCAL);
  EXPECT(copy != nullptr && copy != nccl());
  EXPECT(!is_hook(dlsym(copy, "ncclSend")));
  reinterpret_cast<void (*)(ncclResult_t)>(dlsym(nccl(), "fake_nccl_refuse"))(ncclInvalidUsage);
  EXPECT(communicate(handle) == 2);
  EXPECT(core_loaded());
}

// A library that hooks call has to stay where it is.
void closed_plugin() {
  for (int time = 0; time < 2; ++time) {
    void* handle = plugin(RTLD_LOCAL);
    std::thread([handle] { EXPECT(communicate(handle) == 0); }).join();
    dlclose(handle);
    EXPECT(dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD) != nullptr);
  }
}

// Not supported: such a library binds past every preloaded one. It has to go on working all the same.
void deepbind() {
  EXPECT(communicate(plugin(RTLD_LOCAL | RTLD_DEEPBIND)) == 0);
  EXPECT(!core_loaded());
}

void off() {
  EXPECT(object_of(dlsym(driver(), "cuEventRecord")) == "libcuda.so.1");
  EXPECT(object_of(entry_point("cuEventRecord", 12000, 0)) == "libcuda.so.1");
  EXPECT(communicate(plugin(RTLD_LOCAL)) == 0);
  EXPECT(!core_loaded());
}

void passes_on() {
  EXPECT(communicate(plugin(RTLD_LOCAL)) == 0);
  EXPECT(!core_loaded());
}

void old_glibc_name() {
  EXPECT(is_hook(dlsym_of_2_2_5(driver(), "cuEventRecord")));
  EXPECT(dlsym_of_2_2_5(RTLD_NEXT, "getppid") != nullptr);
}

void first_lookups() {
  constexpr int threads_per_block = 64;
  std::atomic<int> ready{0};
  std::atomic<int> wrong{0};
  void* handle = driver();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < threads_per_block; ++thread) {
    threads.emplace_back([&, thread] {
      ready.fetch_add(1);
      while (ready.load() != threads_per_block) std::this_thread::yield();
      const auto gpa = reinterpret_cast<Gpa>(dlsym(handle, "cuGetProcAddress_v2"));
      void* found = nullptr;
      gpa(thread % 2 == 0 ? "cuEventRecord" : "cuStreamSynchronize", &found, 12000, 0, nullptr);
      if (!is_hook(gpa) || !is_hook(found) || !is_hook(dlsym(handle, "cuStreamWaitEvent"))) wrong.fetch_add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT(wrong.load() == 0);
}

template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

// A child that was made before anything happened is a process like any other; one that was made later is not.
void forks() {
  EXPECT(in_child([] { return communicate(plugin(RTLD_LOCAL)) == 0 && core_loaded() ? 0 : 1; }) == 0);
  EXPECT(!core_loaded());
  EXPECT(is_hook(dlsym(driver(), "cuEventRecord")));
  EXPECT(in_child([] { return communicate(plugin(RTLD_LOCAL)) == 0 && !core_loaded() ? 0 : 1; }) == 0);
  EXPECT(in_child([] { return execl("/proc/self/exe", "probe", "local_nccl", nullptr); }) == 0);
  EXPECT(communicate(plugin(RTLD_LOCAL)) == 0);
  EXPECT(core_loaded());
  EXPECT(in_child([] { return communicate(plugin(RTLD_LOCAL)); }) == 0);
}

void other_preload() {
  EXPECT(getppid() > 1000000);
  by_handle();
}

void other_dlsym() {
  by_handle();
  by_entry_point();
  const int* calls = static_cast<int*>(dlsym(RTLD_DEFAULT, "other_dlsym_calls"));
  EXPECT(calls != nullptr && *calls > 10);
}

struct Command {
  const char* name;
  void (*run)();
};
const Command commands[] = {
    {"by_handle", by_handle},
    {"by_entry_point", by_entry_point},
    {"by_default_absent", by_default_absent},
    {"by_libc", by_libc},
    {"by_default_present", by_default_present},
    {"local_nccl", local_nccl},
    {"absent_in_a_plugin", absent_in_a_plugin},
    {"second_copy", second_copy},
    {"closed_plugin", closed_plugin},
    {"deepbind", deepbind},
    {"off", off},
    {"passes_on", passes_on},
    {"old_glibc_name", old_glibc_name},
    {"first_lookups", first_lookups},
    {"forks", forks},
    {"other_preload", other_preload},
    {"other_dlsym", other_dlsym},
};

}  // namespace

int main(int count, char** arguments) {
  for (const Command& command : commands) {
    if (count != 2 || std::strcmp(arguments[1], command.name) != 0) continue;
    command.run();
    std::fflush(stdout);
    return failures == 0 ? 0 : 1;
  }
  std::printf("no such command\n");
  return 2;
}
