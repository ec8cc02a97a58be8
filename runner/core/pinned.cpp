// Host memory that the device writes; see the header.
#include "runner/core/pinned.h"

#include <sys/mman.h>

namespace weft {

void* map_pages(std::size_t bytes) {
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw SetUpError("there is no host memory");
  // After a fork() the parent's writes would go to copies that the device does not know.
  ::madvise(pages, bytes, MADV_DONTFORK);
  return pages;
}

CUdeviceptr register_pages(const Driver& driver, void* pages, std::size_t bytes) {
  const CUresult registered =
      driver.cuMemHostRegister_v2(pages, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  // A context that went may have left it.
  if (registered != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
    check(driver, registered, "cuMemHostRegister");
  CUdeviceptr address = 0;
  check(driver, driver.cuMemHostGetDevicePointer_v2(&address, pages, 0), "cuMemHostGetDevicePointer");
  return address;
}

void give_pages_back(const Driver& driver, void* pages, std::size_t bytes) noexcept {
  driver.cuMemHostUnregister(pages);
  ::munmap(pages, bytes);
}

}  // namespace weft
