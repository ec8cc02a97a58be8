// The real CUDA driver functions that the core calls, by their exact exported names, never through a hook.
//
// Filled once, when the core starts (or by the fill probe); read by every thread of the core. Nothing here may call
// CUDA by a linked name: the core links no CUDA library. Compiled with __CUDA_API_VERSION_INTERNAL, so that each name
// in the table is the ABI of that name.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "runner/core/set_up_error.h"

namespace weft {

struct Driver {
#define TO_OBSERVE(name) decltype(&::name) name = nullptr;
#define TO_FILL(name) decltype(&::name) name = nullptr;
#define OF_LATER(name) decltype(&::name) name = nullptr;
#include "runner/core/driver_functions.def"
#undef TO_OBSERVE
#undef TO_FILL
#undef OF_LATER

  std::vector<const char*> missing_to_observe;
  std::vector<const char*> missing_to_fill;

  // `symbol` gives the address of an exported function of the driver, nullptr when there is none.
  void load(void* (*symbol)(const char* name));

  std::string name_of(CUresult result) const;
  // Which GPU the number stands for in this process, as 32 hexadecimal digits; "": the driver does not say.
  std::string uuid_of(int ordinal) const;
};

// Throws SetUpError with the driver's name of the error unless `result` is CUDA_SUCCESS.
void check(const Driver& driver, CUresult result, const char* what);

}  // namespace weft
