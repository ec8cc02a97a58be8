// Loads the real libcudart on the simulated libcuda (through recorder.cpp) and checks what it asked for: every entry
// point that the driver's stub has was found at an address of its own. The runtime itself does not come up: it insists
// on private tables of the real driver.
//   real_runtime_test PATH_OF_LIBCUDART
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

// Interoperation with other APIs is in the typedefs but not in the stub library.
bool optional_name(const std::string& name) {
  for (const char* part : {"GL", "VDPAU", "EGL", "Egl"})
    if (name.find(part) != std::string::npos) return true;
  return name.empty();
}

struct Outcome {
  int requests = 0;
  int wrong = 0;
  std::set<std::string> asked;
};

Outcome check(std::istream& lines) {
  Outcome outcome;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    int version = 0;
    int result = 0;
    int status = 0;
    unsigned long long flags = 0;
    std::string address;
    std::string name;
    fields >> version >> flags >> result >> status >> address >> name;
    ++outcome.requests;
    outcome.asked.insert(name + "@" + std::to_string(version));
    if (result == 0 && (status == 0 || optional_name(name))) continue;
    ++outcome.wrong;
    std::fprintf(stderr, "not as expected: %s\n", line.c_str());
  }
  return outcome;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  char path[] = "requests_XXXXXX";
  if (mkstemp(path) < 0) return 2;
  setenv("RECORDER_OUTPUT", path, 1);
  void* runtime = dlopen(arguments[1], RTLD_NOW);
  if (runtime == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const auto get_device_count = reinterpret_cast<int (*)(int*)>(dlsym(runtime, "cudaGetDeviceCount"));
  int devices = 0;
  const int result = get_device_count(&devices);
  std::ifstream lines(path);
  const Outcome outcome = check(lines);
  std::remove(path);
  std::printf("%d requests, %d not as expected; cudaGetDeviceCount: %d\n", outcome.requests, outcome.wrong, result);
  for (const char* name : {"cuGetProcAddress@11030", "cuGetProcAddress@12000", "cuCtxSynchronize@2000",
                           "cuCtxSynchronize@13000", "cuLaunchKernel@7000"})
    if (!outcome.asked.contains(name)) {
      std::fprintf(stderr, "never asked for %s\n", name);
      return 1;
    }
  return outcome.requests >= 400 && outcome.wrong == 0 ? 0 : 1;
}
