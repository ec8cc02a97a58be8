// Physical memory of the virtual memory management API; see physical.h. Any host thread.
#include "memory/physical.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "engine/objects.h"
#include "memory/pages.h"

namespace simgpu {
namespace {

// Nobody may rely on what new memory holds: neither zeros nor what was there before. Of a large one only the first page
// of each unit is written, so that the host does not commit all of it.
constexpr unsigned char content_of_new_memory = 0xA5;
constexpr std::size_t most_written = std::size_t{16} << 20;

bool write_content(int file, std::size_t size) {
  const std::size_t written = size <= most_written ? constants::virtual_granularity : page_size;
  const std::vector<unsigned char> content(written, content_of_new_memory);
  for (std::size_t offset = 0; offset < size; offset += constants::virtual_granularity)
    if (pwrite(file, content.data(), written, static_cast<off_t>(offset)) != static_cast<ssize_t>(written))
      return false;
  return true;
}

}  // namespace

std::shared_ptr<Physical> Physical::create(std::size_t size, const CUmemAllocationProp& properties, Device* device) {
  if (device != nullptr && !device->memory.take(size)) return nullptr;
  const int file = memfd_create("simgpu-memory", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0 && write_content(file, size))
    return std::shared_ptr<Physical>(new Physical(file, size, properties, device));
  if (file >= 0) close(file);
  if (device != nullptr) device->memory.give_back(size);
  return nullptr;
}

std::shared_ptr<Physical> Physical::import(int file) {
  struct stat state {};
  if (fstat(file, &state) != 0 || !S_ISREG(state.st_mode) || state.st_size <= 0) return nullptr;
  const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return std::shared_ptr<Physical>(new Physical(own, static_cast<std::size_t>(state.st_size), properties, nullptr));
}

Physical::~Physical() {
  close(file_);
  if (device_ != nullptr) device_->memory.give_back(size_);
}

bool Physical::map(std::uintptr_t address, std::size_t size) const {
  return mmap(reinterpret_cast<void*>(address), size, PROT_NONE, MAP_SHARED | MAP_FIXED, file_, 0) != MAP_FAILED;
}

int Physical::duplicate() const {
  return fcntl(file_, F_DUPFD_CLOEXEC, 0);
}

void unmap_physical(std::uintptr_t address, std::size_t size) {
  mmap(reinterpret_cast<void*>(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
}

void set_access(std::uintptr_t address, std::size_t size, CUmemAccess_flags access) {
  int protection = PROT_NONE;
  if (access == CU_MEM_ACCESS_FLAGS_PROT_READ) protection = PROT_READ;
  if (access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) protection = PROT_READ | PROT_WRITE;
  mprotect(reinterpret_cast<void*>(address), size, protection);
}

}  // namespace simgpu
