// Is what cuGetProcAddress gives for a name the address that dlsym gives for an exact exported name? The shim
// substitutes by address and misses a function for which it is not.
//
// Run by scripts/gpu-proof; main thread only. Asked for each function of shim/hooks.def, for versions of the API
// from 2.0 to the driver's and both meanings of the default stream. Must not run under Weft.
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <set>

#include "gpu.h"
#include "report.h"

namespace probe {
namespace {

#define NAME_cuda(name) #name,
#define NAME_nccl(name)
#define NAME_libc(name)
#define HOOK(library, name, presence, ...) NAME_##library(name)
#define CALL(library, name, presence) NAME_##library(name)
constexpr const char* exact_names[] = {
#include "shim/hooks.def"
};
#undef HOOK
#undef CALL

constexpr const char* version_suffixes[] = {"", "_v2", "_v3", "_v4", "_v5"};
constexpr const char* stream_suffixes[] = {"", "_ptsz", "_ptds"};

std::string base_of(std::string name) {
  for (const char* suffix : {"_ptsz", "_ptds", "_v2", "_v3", "_v4", "_v5"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - std::string_view(suffix).size());
  }
  return name;
}

void* exported(const std::string& name) {
  return dlsym(driver().library, name.c_str());
}

// Every address that cuGetProcAddress gives for a base name.
std::set<void*> addresses_of(const std::string& base, int newest) {
  std::set<void*> found;
  std::vector<int> versions{2000, 3020, 4000, 5000, 6000, 6050, 7000, 7050, 8000, 9000, 9020, 10000, 10020};
  for (int version = 11000; version <= newest; version += 10) versions.push_back(version);
  for (const int version : versions) {
    for (const cuuint64_t flags : {CU_GET_PROC_ADDRESS_LEGACY_STREAM, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM}) {
      void* address = nullptr;
      CUdriverProcAddressQueryResult status{};
      const CUresult result = driver().cuGetProcAddress(base.c_str(), &address, version, flags, &status);
      if (result == CUDA_SUCCESS && address != nullptr) found.insert(address);
    }
  }
  return found;
}

std::set<void*> exports_of(const std::string& base) {
  std::set<void*> found;
  for (const char* version : version_suffixes) {
    for (const char* stream : stream_suffixes) found.insert(exported(base + version + stream));
  }
  return found;
}

std::string measure(const Options&, Report& report) {
  gpu();
  if (driver().cuGetProcAddress == nullptr) throw Skipped("the driver is older than cuGetProcAddress_v2");
  int newest = 0;
  check(driver().cuDriverGetVersion(&newest));
  std::map<std::string, std::set<void*>> given;
  std::vector<std::string> missing, never_given, foreign;
  int same = 0;
  for (const char* name : exact_names) {
    const std::string base = base_of(name);
    if (!given.contains(base)) given[base] = addresses_of(base, newest);
    void* address = exported(name);
    if (address == nullptr) {
      missing.emplace_back(name);
    } else if (given[base].contains(address)) {
      ++same;
    } else {
      never_given.emplace_back(name);
    }
  }
  for (const auto& [base, addresses] : given) {
    const std::set<void*> known = exports_of(base);
    if (!std::includes(known.begin(), known.end(), addresses.begin(), addresses.end())) foreign.push_back(base);
  }
  report.add("driver_version", newest);
  report.add("same", same);
  report.add("not_exported", missing);
  report.add("exported_but_never_given", never_given);
  report.add("given_but_not_exported", foreign);
  return format(
      "Of %zu functions, cuGetProcAddress gives the very address that dlsym gives for %d, another for %zu; %zu are not "
      "exported by this driver; %zu names have addresses that no exported name has",
      std::size(exact_names), same, never_given.size(), missing.size(), foreign.size());
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "pointer_identity", probe::measure);
}
