// See the header.
#include "runner/validate/cupti.h"

#include <dlfcn.h>

#include <array>
#include <vector>

namespace weft::cupti {
namespace {

constexpr std::array sonames{"libcupti.so.13", "libcupti.so.12"};

std::string value_of(const Variables& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::vector<std::string> candidates(const Variables& environment) {
  std::vector<std::string> paths(sonames.begin(), sonames.end());
  for (const std::string& root :
       {value_of(environment, "CUDA_HOME"), value_of(environment, "CUDA_PATH"), std::string("/usr/local/cuda")})
    for (const char* soname : sonames)
      if (!root.empty()) paths.push_back(root + "/extras/CUPTI/lib64/" + soname);
  return paths;
}

// A process with two CUPTIs would have two subscribers that do not know of each other.
void* already_loaded(std::string& path) {
  for (const char* soname : sonames)
    if (void* const handle = ::dlopen(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD); handle != nullptr) {
      path = soname;
      return handle;
    }
  return nullptr;
}

void* open_any(const std::string& named, const Variables& environment, std::string& path) {
  if (!named.empty()) return ::dlopen((path = named).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (void* const handle = already_loaded(path); handle != nullptr) return handle;
  for (const std::string& candidate : candidates(environment))
    if (void* const handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
      path = candidate;
      return handle;
    }
  return nullptr;
}

std::string missing_function(void* handle, Library& library) {
  const char* missing = nullptr;
#define FUNCTION(member, name, parameters)                                            \
  library.member = reinterpret_cast<decltype(library.member)>(::dlsym(handle, name)); \
  if (library.member == nullptr && missing == nullptr) missing = name;
  WEFT_CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
  return missing == nullptr ? "" : missing;
}

}  // namespace

std::string open(const std::string& named, const Variables& environment, Library& library) {
  void* const handle = open_any(named, environment, library.path);
  if (handle == nullptr && !named.empty()) return named + " (WEFT_CUPTI) cannot be opened";
  if (handle == nullptr)
    return "CUPTI is not found (libcupti.so.13 or .12 in LD_LIBRARY_PATH, CUDA_HOME or /usr/local/cuda; WEFT_CUPTI "
           "names it)";
  if (const std::string missing = missing_function(handle, library); !missing.empty())
    return library.path + " has no " + missing;
  if (const Result result = library.get_version(&library.version); result != success)
    return library.path + " does not tell its version: " + name_of(result);
  if (!knows_records(library.version, version_of_headers()))
    return library.path + " is of version " + std::to_string(library.version) +
           ", whose records this build does not know (19 to 28, 13000x" +
           (version_of_headers() == 0 ? ")" : ", " + std::to_string(version_of_headers()) + ")");
  if (library.version == version_that_crashes)
    return library.path + " is CUPTI 13.0 without Update 1, which may crash in cuptiActivityFlushAll";
  return "";
}

std::string other_profiler(const Variables& environment) {
  for (const char* name : {"CUDA_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID"})
    if (!value_of(environment, name).empty()) return std::string("another profiler is in the process (") + name + ")";
  return "";
}

std::string name_of(Result result) {
  if (result == multiple_subscribers_not_supported) return "another profiler has CUPTI (error 39)";
  // No other library is tried then: two in a process would be two subscribers that do not know of each other.
  if (result == not_initialized)
    return "CUPTI cannot be initialised (error 15): it is newer than the driver, or another profiler keeps it from "
           "that";
  if (result == 35) return "CUPTI refuses: insufficient privileges (error 35)";
  return "CUPTI error " + std::to_string(result);
}

}  // namespace weft::cupti
