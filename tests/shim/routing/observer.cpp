// Stands in front of libweft.so in the list of preloaded libraries and judges every answer that it gives about the
// driver: the real address belongs to a hooked symbol -> our hook of that very symbol; anything else -> untouched. Asks
// the real driver the same question for it. Says at the end what it has seen.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "shim/routing/elf.h"
#include "shim/routing/vendor.h"
#include "tests/shim/routing/hook_symbols.h"

namespace {

std::atomic<int> requests{0};
std::atomic<int> routed{0};
std::atomic<int> wrong{0};

using Look = void* (*)(void*, const char*);
using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
GetProcAddress real_get = nullptr;
GetProcAddress hooked_get = nullptr;

const link_map* object_named(const char* name) {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    const std::string path = object->l_name;
    if (path.size() >= std::strlen(name) &&
        path.compare(path.size() - std::strlen(name), std::string::npos, name) == 0) {
      return object;
    }
  }
  return nullptr;
}

Look dlsym_of(const char* library) {
  return reinterpret_cast<Look>(weft::defined_in(object_named(library), "dlsym"));
}

const char* const hooks[] = {
#define HOOK(library, name, presence, ...) #name,
#define CALL(library, name, presence)
#include "shim/hooks.def"
#undef HOOK
#undef CALL
};

// The right answer where the driver answers `address`.
void* expected(void* address) {
  Dl_info info;
  void* object = nullptr;
  if (address == nullptr || dladdr1(address, &info, &object, RTLD_DL_LINKMAP) == 0) return address;
  for (const char* hook : hooks) {
    if (weft::defined_in(static_cast<const link_map*>(object), hook) != address) continue;
    routed.fetch_add(1);
    static const auto functions = functions_of(object_named("libweft.so"));
    return functions.at(hook);
  }
  return address;
}

void judge(const char* how, const char* name, int version, void* real, void* given) {
  requests.fetch_add(1);
  if (given == expected(real)) return;
  wrong.fetch_add(1);
  std::fprintf(stderr, "WRONG: %s %s @%d: the driver has %p, given %p\n", how, name, version, real, given);
}

CUresult observed_get(const char* symbol, void** pfn, int version, cuuint64_t flags,
                      CUdriverProcAddressQueryResult* status) {
  void* real = nullptr;
  const CUresult real_result = real_get(symbol, &real, version, flags, nullptr);
  const CUresult result = hooked_get(symbol, pfn, version, flags, status);
  if (result != real_result) wrong.fetch_add(1);
  judge("cuGetProcAddress_v2", symbol, version, result == CUDA_SUCCESS ? real : nullptr,
        result == CUDA_SUCCESS && pfn != nullptr ? *pfn : nullptr);
  // So that the runtime's own answers about this function are observed too.
  if (result == CUDA_SUCCESS && *pfn == reinterpret_cast<void*>(hooked_get))
    *pfn = reinterpret_cast<void*>(&observed_get);
  return result;
}

struct Report {
  ~Report() {
    std::fprintf(stderr, "routing: requests=%d routed=%d wrong=%d\n", requests.load(), routed.load(), wrong.load());
  }
} report;

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
  static const Look next = dlsym_of("libweft.so");
  if (std::strncmp(name, "cu", 2) != 0 || handle == RTLD_NEXT || handle == RTLD_DEFAULT) return next(handle, name);
  static const Look real = dlsym_of("libc.so.6");
  void* driver = real(handle, name);
  void* given = next(handle, name);
  judge("dlsym", name, 0, driver, given);
  if (given == nullptr || std::strcmp(name, "cuGetProcAddress_v2") != 0) return given;
  real_get = reinterpret_cast<GetProcAddress>(driver);
  hooked_get = reinterpret_cast<GetProcAddress>(given);
  return reinterpret_cast<void*>(&observed_get);
}
