// See green_stream.h.
#include "green_stream.h"

#include <vector>

#include "runner/core/newer_cuda.h"

namespace probe {
namespace {

void require(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) throw Skipped(std::string(call) + ": " + name_of(result));
}

CUdevResource resource_of(Workqueues workqueues) {
  CUdevResource resource{};
  if (workqueues == Workqueues::of_all_contexts) {
    require(driver().cuDeviceGetDevResource(gpu().device, &resource, CU_DEV_RESOURCE_TYPE_SM),
            "cuDeviceGetDevResource (multiprocessors)");
    return resource;
  }
  require(driver().cuDeviceGetDevResource(gpu().device, &resource, weft::resource_type_workqueue_config()),
          "cuDeviceGetDevResource (workqueues)");
  weft::WorkqueueConfig config = weft::workqueue_config(resource);
  config.concurrency_limit = 1;
  config.scope = weft::workqueue_scope_balanced;
  weft::set_workqueue_config(resource, config);
  return resource;
}

}  // namespace

CUstream make_green_stream(Workqueues workqueues) {
  const Driver& d = driver();
  if (d.cuDeviceGetDevResource == nullptr || d.cuDevResourceGenerateDesc == nullptr || d.cuGreenCtxCreate == nullptr ||
      d.cuGreenCtxStreamCreate == nullptr) {
    throw Skipped("the driver has no green contexts");
  }
  CUdevResource resource = resource_of(workqueues);
  CUdevResourceDesc description = nullptr;
  CUgreenCtx context = nullptr;
  CUstream stream = nullptr;
  require(d.cuDevResourceGenerateDesc(&description, &resource, 1), "cuDevResourceGenerateDesc");
  require(d.cuGreenCtxCreate(&context, description, gpu().device, CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate");
  require(d.cuGreenCtxStreamCreate(&stream, context, CU_STREAM_NON_BLOCKING, gpu().lowest_priority),
          "cuGreenCtxStreamCreate");
  return stream;
}

CUgraphExec make_slice(CUstream stream, const std::function<void()>& launch) {
  const Driver& d = driver();
  CUgraph captured = nullptr, graph = nullptr;
  CUgraphExec executable = nullptr;
  CUcontext context = nullptr;
  check(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  launch();
  check(d.cuStreamEndCapture(stream, &captured));
  std::size_t count = 0;
  check(d.cuGraphGetNodes(captured, nullptr, &count));
  std::vector<CUgraphNode> nodes(count);
  check(d.cuGraphGetNodes(captured, nodes.data(), &count));
  check(d.cuStreamGetCtx(stream, &context));
  check(d.cuCtxPushCurrent(context));
  check(d.cuGraphCreate(&graph, 0));
  CUgraphNode last = nullptr;
  for (const CUgraphNode node : nodes) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    check(d.cuGraphKernelNodeGetParams(node, &parameters));
    const CUgraphNode before = last;
    check(d.cuGraphAddKernelNode(&last, graph, &before, before == nullptr ? 0 : 1, &parameters));
  }
  check(d.cuGraphInstantiate(&executable, graph, 0));
  check(d.cuCtxPopCurrent(nullptr));
  check(d.cuGraphUpload(executable, stream));
  check(d.cuStreamSynchronize(stream));
  return executable;
}

}  // namespace probe
