// Argument checks that the entry points share. Host threads.
#include <algorithm>
#include <cstdlib>

#include "api.h"
#include "driver.h"

namespace simgpu::nccl {
namespace {

constexpr unsigned config_magic = 0xcafebeef;

int environment(const char* name, int fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr) return fallback;
  return static_cast<int>(std::strtol(text, nullptr, 10));
}

// A field of ncclConfig_t that lies within the size the caller was compiled with.
#define CONFIG_FIELD(config, field, fallback)                                                                \
  ((config)->size >= offsetof(ncclConfig_t, field) + sizeof(int) && (config)->field != NCCL_CONFIG_UNDEF_INT \
       ? (config)->field                                                                                     \
       : (fallback))

}  // namespace

ncclResult_t check_pointer(const void* pointer, const char* call, const char* name) {
  return pointer != nullptr ? ncclSuccess : fail(ncclInvalidArgument, "%s: %s is null", call, name);
}

ncclResult_t check_handle(const ncclComm* communicator, const char* call) {
  if (communicator == nullptr) return fail(ncclInvalidArgument, "%s: the communicator is null", call);
  if (!communicator->intact()) return fail(ncclInvalidArgument, "%s: this is no communicator", call);
  if (!communicator->own_process()) {
    return fail(ncclInvalidUsage, "%s: the communicator belongs to the process this one was forked from", call);
  }
  return ncclSuccess;
}

ncclResult_t check_ready(ncclComm* communicator, const char* call) {
  if (const ncclResult_t result = check_handle(communicator, call); result != ncclSuccess) return result;
  ncclResult_t state = ncclSuccess;
  if (const ncclResult_t result = ncclCommGetAsyncError(communicator, &state); result != ncclSuccess) return result;
  if (state == ncclInProgress) {
    return fail(ncclInvalidArgument, "%s: the communicator is still busy with an earlier call", call);
  }
  if (state != ncclSuccess) return state;
  if (communicator->suspended()) return fail(ncclInvalidUsage, "%s: the communicator is suspended", call);
  if (communicator->revoked() || communicator->finalized() || !communicator->ready()) {
    return fail(ncclInvalidUsage, "%s: the communicator takes no operations any more", call);
  }
  return ncclSuccess;
}

ncclResult_t find_operation(ncclRedOp_t handle, ncclDataType_t type, ncclComm* communicator, const char* call,
                            Operation* operation) {
  const int number = static_cast<int>(handle);
  if (number < 0) return fail(ncclInvalidArgument, "%s: %d is no reduction", call, number);
  if (number < ncclNumOps) {
    constexpr Reduction builtin[] = {Reduction::sum, Reduction::product, Reduction::max, Reduction::min,
                                     Reduction::average};
    operation->reduction = builtin[number];
    return ncclSuccess;
  }
  const auto& known = communicator->operations();
  const auto index = static_cast<size_t>(number - ncclNumOps);
  if (index >= known.size() || !known[index].has_value()) {
    return fail(ncclInvalidArgument, "%s: %d is no reduction of this communicator", call, number);
  }
  if (known[index]->type != type) {
    return fail(ncclInvalidArgument, "%s: the reduction was made for another element type", call);
  }
  *operation = *known[index];
  return ncclSuccess;
}

ncclResult_t read_settings(const ncclConfig_t* config, const Settings& defaults, Settings* settings) {
  *settings = defaults;
  if (config != nullptr) {
    if (config->magic != config_magic || config->size < offsetof(ncclConfig_t, cgaClusterSize)) {
      return fail(ncclInvalidArgument, "the configuration was not initialized with NCCL_CONFIG_INITIALIZER");
    }
    const int blocking = CONFIG_FIELD(config, blocking, defaults.blocking ? 1 : 0);
    const int share = CONFIG_FIELD(config, splitShare, defaults.share ? 1 : 0);
    settings->cluster_size = CONFIG_FIELD(config, cgaClusterSize, defaults.cluster_size);
    settings->least_blocks = CONFIG_FIELD(config, minCTAs, defaults.least_blocks);
    settings->most_blocks = CONFIG_FIELD(config, maxCTAs, defaults.most_blocks);
    if ((blocking != 0 && blocking != 1) || (share != 0 && share != 1) || settings->cluster_size < 0 ||
        settings->least_blocks <= 0 || settings->most_blocks < settings->least_blocks) {
      return fail(ncclInvalidArgument, "the configuration has a value out of range");
    }
    settings->blocking = blocking == 1;
    settings->share = share == 1;
  }
  settings->blocking = environment("NCCL_COMM_BLOCKING", settings->blocking ? 1 : 0) != 0;
  settings->cluster_size = environment("NCCL_CGA_CLUSTER_SIZE", settings->cluster_size);
  settings->least_blocks = std::max(1, environment("NCCL_MIN_CTAS", settings->least_blocks));
  settings->most_blocks = std::max(settings->least_blocks, environment("NCCL_MAX_CTAS", settings->most_blocks));
  return ncclSuccess;
}

}  // namespace simgpu::nccl
