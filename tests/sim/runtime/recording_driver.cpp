// A libcuda.so.1 that exports nothing but cuGetProcAddress_v2, which writes down what it is asked for and answers with
// functions that refuse: it shows what a runtime wants from a driver. The record goes to the file named in
// RECORDING_DRIVER_LOG. Loaded by driver_requests_test.py.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int not_supported = 801;

int refuse() {
  return not_supported;
}

int driver_version(int* version) {
  *version = 13000;
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int cuGetProcAddress_v2(const char* name, void** address, int version,
                                                                          unsigned long long flags, int* status) {
  const char* path = std::getenv("RECORDING_DRIVER_LOG");
  if (std::FILE* file = path != nullptr ? std::fopen(path, "a") : nullptr) {
    std::fprintf(file, "%s %d %llu\n", name, version, flags);
    std::fclose(file);
  }
  if (std::strcmp(name, "cuGetProcAddress") == 0) {
    *address = reinterpret_cast<void*>(&cuGetProcAddress_v2);
  } else if (std::strcmp(name, "cuDriverGetVersion") == 0) {
    *address = reinterpret_cast<void*>(&driver_version);
  } else {
    *address = reinterpret_cast<void*>(&refuse);
  }
  if (status != nullptr) {
    *status = 0;
  }
  return 0;
}
