// Fills the table of driver functions. Called once at start, on a thread of the main job; no CUDA call happens here.
#include "runner/core/driver.h"

namespace weft {

void Driver::load(void* (*symbol)(const char* name)) {
#define LOAD(function, missing)                                       \
  function = reinterpret_cast<decltype(function)>(symbol(#function)); \
  if (function == nullptr) missing.push_back(#function);
#define TO_OBSERVE(function) LOAD(function, missing_to_observe)
#define TO_FILL(function) LOAD(function, missing_to_fill)
#define OF_LATER(function) function = reinterpret_cast<decltype(function)>(symbol(#function));
#include "runner/core/driver_functions.def"
#undef TO_OBSERVE
#undef TO_FILL
#undef OF_LATER
#undef LOAD
}

std::string Driver::name_of(CUresult result) const {
  const char* text = nullptr;
  if (cuGetErrorName != nullptr && cuGetErrorName(result, &text) == CUDA_SUCCESS && text != nullptr) return text;
  return "CUDA error " + std::to_string(static_cast<int>(result));
}

std::string Driver::uuid_of(int ordinal) const {
  CUdevice device{};
  CUuuid uuid{};
  if (cuDeviceGetUuid_v2 == nullptr || cuDeviceGet(&device, ordinal) != CUDA_SUCCESS ||
      cuDeviceGetUuid_v2(&uuid, device) != CUDA_SUCCESS)
    return "";
  std::string digits;
  for (const char byte : uuid.bytes)
    for (const int shift : {4, 0}) digits += "0123456789abcdef"[(static_cast<unsigned char>(byte) >> shift) & 15];
  return digits;
}

void check(const Driver& driver, CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw SetUpError(std::string(what) + " failed with " + driver.name_of(result));
}

}  // namespace weft
