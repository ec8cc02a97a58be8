// See driver.h.
#include "driver.h"

#include <dlfcn.h>

namespace probe {
namespace {

#define TEXT_OF(name) #name
#define EXPANDED_TEXT_OF(name) TEXT_OF(name)

Driver open_driver() {
  Driver found;
  found.library = dlopen("libcuda.so.1", RTLD_NOW);
  if (found.library == nullptr) throw Skipped("there is no CUDA driver (libcuda.so.1) on this machine");
#define FUNCTION(name) \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(found.library, EXPANDED_TEXT_OF(name)));
#include "driver_functions.def"
#undef FUNCTION
  return found;
}

}  // namespace

const Driver& driver() {
  static const Driver instance = open_driver();
  return instance;
}

std::string name_of(CUresult result) {
  const char* text = nullptr;
  if (driver().cuGetErrorName(result, &text) != CUDA_SUCCESS) return "error " + std::to_string(result);
  return text;
}

void check(CUresult result, const char* file, int line) {
  if (result == CUDA_SUCCESS) return;
  const std::string path = file;
  throw std::runtime_error(name_of(result) + " at " + path.substr(path.rfind('/') + 1) + ":" + std::to_string(line));
}

}  // namespace probe
