// Are the variables of a module found by name: global, constant, static? Their contents are state that a recorded
// program may have changed, and `weft pack` would have to keep it.
//
// Run by scripts/gpu-proof; main thread only.
#include "gpu.h"
#include "report.h"

namespace probe {
namespace {

struct Asked {
  const char* key;
  const char* name;
};
// As kernels.cu has them.
constexpr Asked variables[] = {
    {"global", "probe_variable"}, {"constant", "probe_constant"}, {"static", "probe_static_variable"}};

// "found", "found, but its contents are not what the source says", or the driver's error.
std::string answer(CUresult result, CUdeviceptr address, std::size_t bytes) {
  if (result != CUDA_SUCCESS) return name_of(result);
  uint32_t value = 0;
  if (bytes != sizeof value) return format("found, of %zu bytes", bytes);
  check(driver().cuMemcpyDtoH(&value, address, sizeof value));
  return value == 3 || value == 5 || value == 7 ? "found" : format("found, holds %u", value);
}

std::string measure(const Options&, Report& report) {
  gpu();
  const Driver& d = driver();
  CUlibrary library = nullptr;
  check(d.cuLibraryLoadData(&library, kernel_image(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  std::string found, missing;
  for (const Asked& each : variables) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CUresult result = d.cuLibraryGetGlobal(&address, &bytes, library, each.name);
    const std::string of_library = answer(result, address, bytes);
    result = d.cuModuleGetGlobal(&address, &bytes, gpu().module, each.name);
    const std::string of_module = answer(result, address, bytes);
    report.add(std::string(each.key) + "_of_library", of_library);
    report.add(std::string(each.key) + "_of_module", of_module);
    const bool both = of_library == "found" && of_module == "found";
    (both ? found : missing) += std::string(" ") + each.key;
  }
  return "Variables of a module that are found by name:" + (found.empty() ? " none" : found) +
         "; that are not:" + (missing.empty() ? " none" : missing);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "module_variables", probe::measure);
}
