// See fixed_memory.h.
#include "fixed_memory.h"

#include <cstdlib>
#include <fstream>

#include "report.h"

namespace probe {

bool reserve_at(CUdeviceptr address, std::size_t bytes, std::string& why) {
  CUdeviceptr found = 0;
  const CUresult result = driver().cuMemAddressReserve(&found, bytes, 0, address, 0);
  if (result != CUDA_SUCCESS) {
    why = name_of(result);
    return false;
  }
  if (found == address) return true;
  why = format("given 0x%llx", static_cast<unsigned long long>(found));
  check(driver().cuMemAddressFree(found, bytes));
  return false;
}

void map_at(CUdeviceptr address, std::size_t bytes) {
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  property.location.id = gpu().device;
  std::size_t unit = 0;
  check(driver().cuMemGetAllocationGranularity(&unit, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const std::size_t whole = (bytes + unit - 1) / unit * unit;
  CUmemGenericAllocationHandle physical = 0;
  check(driver().cuMemCreate(&physical, whole, &property, 0));
  check(driver().cuMemMap(address, whole, 0, physical, 0));
  const CUmemAccessDesc access{property.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  check(driver().cuMemSetAccess(address, whole, &access, 1));
}

std::string mapping_at(CUdeviceptr address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t dash = line.find('-');
    if (dash == std::string::npos) continue;
    if (std::strtoull(line.c_str() + dash + 1, nullptr, 16) > address) return line.substr(0, line.find(' '));
  }
  return "";
}

}  // namespace probe
