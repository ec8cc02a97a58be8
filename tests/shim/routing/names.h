// The names that the routing programs ask for: every hooked or called name, and some that no hook stands for.
#pragma once

#include <string>

inline const char* const asked_names[] = {
#define HOOK(library, name, presence, ...) #name,
#define CALL(library, name, presence) #name,
#include "shim/hooks.def"
#undef HOOK
#undef CALL
    "cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch", "cuMemFree", "cuMemcpyAsync", "cuNoSuchFunction", ""};

// As cuGetProcAddress is asked for it.
inline std::string base_of(std::string name) {
  for (const char* suffix : {"_ptsz", "_v2"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - std::string(suffix).size());
  }
  return name;
}
