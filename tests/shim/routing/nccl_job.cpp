// Makes the real NCCL start up, as far as it gets on a driver that does nothing: far enough to ask for its entry
// points.
#include <dlfcn.h>

#include <nccl.h>

int main() {
  void* nccl = dlopen(REAL_NCCL, RTLD_NOW | RTLD_LOCAL);
  if (nccl == nullptr) return 1;
  const auto unique = reinterpret_cast<decltype(&ncclGetUniqueId)>(dlsym(nccl, "pncclGetUniqueId"));
  const auto init = reinterpret_cast<decltype(&ncclCommInitRank)>(dlsym(nccl, "pncclCommInitRank"));
  ncclUniqueId id{};
  ncclComm_t communicator = nullptr;
  (void)unique(&id);
  (void)init(&communicator, 1, id, 0);
  return 0;
}
