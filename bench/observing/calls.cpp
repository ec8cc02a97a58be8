// See calls.h.
#include "calls.h"

#include <dlfcn.h>
#include <link.h>

#include <stdexcept>
#include <string>

#include "shim/routing/elf.h"

namespace observing {
namespace {

// The handle of dlopen is the object's entry in the list of loaded objects, as dlinfo() says.
link_map* library(const char* name) {
  void* handle = dlopen(name, RTLD_NOW);
  link_map* object = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&object)) != 0)
    throw std::runtime_error(std::string("there is no ") + name);
  return object;
}

template <class Function>
void find(const link_map* object, const char* name, Function& hooked, Function& direct) {
  hooked = reinterpret_cast<Function>(dlsym(const_cast<link_map*>(object), name));
  direct = reinterpret_cast<Function>(weft::defined_in(object, name));
  if (hooked == nullptr || direct == nullptr) throw std::runtime_error(std::string("there is no ") + name);
}

}  // namespace

// cuda.h gives some functions another name than they have in the source: that name is the one to ask for.
#define NAME_OF(name) #name
#define FIND(object, name) find(object, NAME_OF(name), ways.hooked.name, ways.direct.name)
#define SAME(object, name) find(object, NAME_OF(name), ways.name, unused.name)

Ways find_ways() {
  const link_map* const cuda = library("libcuda.so.1");
  const link_map* const nccl = library("libnccl.so.2");
  Ways ways, unused;
#define CALL(name) FIND(cuda, name);
  OBSERVING_DRIVER_CALLS(CALL)
#undef CALL
#define CALL(name) FIND(nccl, name);
  OBSERVING_NCCL_CALLS(CALL)
#undef CALL
  SAME(nccl, ncclGetUniqueId);
  SAME(nccl, ncclCommInitRank);
  SAME(nccl, ncclCommDestroy);
  ways.differ = ways.hooked.cuEventRecord != ways.direct.cuEventRecord && ways.hooked.ncclSend != ways.direct.ncclSend;
  return ways;
}

}  // namespace observing
