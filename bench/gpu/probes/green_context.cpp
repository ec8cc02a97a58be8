// Fill in a green context against fill with a capped grid: does it keep off the multiprocessors that it was not given,
// does NCCL's kernel start as soon, and what does a launch cost?
//
// Run by scripts/gpu-proof; main thread only.
#include "gpu.h"
#include "report.h"
#include "statistics.h"
#include "work.h"

namespace probe {
namespace {

constexpr unsigned reserved = 8;  // multiprocessors that fill leaves free, at least
constexpr double fill_microseconds = 2000, predecessor_microseconds = 200;

struct GreenStream {
  CUstream stream = nullptr;
  CUgreenCtx context = nullptr;
  unsigned multiprocessors = 0;
};

void require(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) throw Skipped(std::string(call) + ": " + name_of(result));
}

// A stream that may use all but reserved multiprocessors.
GreenStream make_green_stream() {
  const Driver& d = driver();
  if (d.cuDevSmResourceSplitByCount == nullptr || d.cuGreenCtxStreamCreate == nullptr ||
      d.cuGreenCtxCreate == nullptr) {
    throw Skipped("the driver is older than green contexts");
  }
  CUdevResource all{}, part{}, rest{};
  require(d.cuDeviceGetDevResource(gpu().device, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  unsigned groups = 1;
  require(d.cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, reserved), "cuDevSmResourceSplitByCount");
  CUdevResourceDesc description = nullptr;
  require(d.cuDevResourceGenerateDesc(&description, &rest, 1), "cuDevResourceGenerateDesc");
  GreenStream made;
  require(d.cuGreenCtxCreate(&made.context, description, gpu().device, CU_GREEN_CTX_DEFAULT_STREAM),
          "cuGreenCtxCreate");
  require(d.cuGreenCtxStreamCreate(&made.stream, made.context, CU_STREAM_NON_BLOCKING, gpu().lowest_priority),
          "cuGreenCtxStreamCreate");
  made.multiprocessors = rest.sm.smCount;
  return made;
}

int multiprocessors_used(CUdeviceptr counts, uint32_t most, CUstream stream) {
  std::vector<uint32_t> seen(most);
  check(driver().cuMemcpyDtoHAsync(seen.data(), counts, most * sizeof(uint32_t), stream));
  check(driver().cuStreamSynchronize(stream));
  int used = 0;
  for (const uint32_t each : seen) used += each != 0 ? 1 : 0;
  return used;
}

// Multiprocessors that a grid of so many blocks ran on.
int spread(CUstream stream, unsigned blocks) {
  const auto most = static_cast<uint32_t>(gpu().multiprocessors);
  const CUdeviceptr counts = make_device_memory(most * sizeof(uint32_t));
  launch(Kernel::where, {blocks, compute_threads}, stream, counts, most, uint64_t{100'000});
  return multiprocessors_used(counts, most, stream);
}

// The same for a node of a graph whose kernel belongs to the green context, launched into a stream that does not: how a
// recorded program would be confined.
int spread_of_node(const GreenStream& green, CUstream stream, unsigned blocks) {
  const Driver& d = driver();
  auto most = static_cast<uint32_t>(gpu().multiprocessors);
  CUdeviceptr counts = make_device_memory(most * sizeof(uint32_t));
  uint64_t nanoseconds = 100'000;
  void* arguments[] = {&counts, &most, &nanoseconds};
  CUDA_KERNEL_NODE_PARAMS node{};
  CUlibrary library = nullptr;
  check(d.cuLibraryLoadData(&library, kernel_image(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  check(d.cuLibraryGetKernel(&node.kern, library, "probe_where"));
  check(d.cuCtxFromGreenCtx(&node.ctx, green.context));
  node.gridDimX = blocks;
  node.blockDimX = compute_threads;
  node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = arguments;
  CUgraph graph = nullptr;
  CUgraphNode made = nullptr;
  CUgraphExec executable = nullptr;
  check(d.cuGraphCreate(&graph, 0));
  check(d.cuGraphAddKernelNode(&made, graph, nullptr, 0, &node));
  check(d.cuGraphInstantiate(&executable, graph, 0));
  check(d.cuGraphLaunch(executable, stream));
  return multiprocessors_used(counts, most, stream);
}

// The same for a kernel that was captured as the CUDA runtime launches it, by the handle of a kernel of a library, and
// moved into the green context by Weft's way: the node may name the handle as a function.
int spread_of_moved_node(const GreenStream& green, CUstream stream, unsigned blocks, Report& report) {
  const Driver& d = driver();
  auto most = static_cast<uint32_t>(gpu().multiprocessors);
  CUdeviceptr counts = make_device_memory(most * sizeof(uint32_t));
  uint64_t nanoseconds = 100'000;
  void* arguments[] = {&counts, &most, &nanoseconds};
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUlaunchConfig config{};
  CUgraph captured = nullptr, graph = nullptr;
  CUgraphNode node = nullptr, made = nullptr;
  CUgraphExec executable = nullptr;
  std::size_t count = 1;
  check(d.cuLibraryLoadData(&library, kernel_image(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  check(d.cuLibraryGetKernel(&kernel, library, "probe_where"));
  config.gridDimX = blocks;
  config.blockDimX = compute_threads;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  check(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  check(d.cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), arguments, nullptr));
  check(d.cuStreamEndCapture(stream, &captured));
  check(d.cuGraphGetNodes(captured, &node, &count));
  CUDA_KERNEL_NODE_PARAMS parameters{};
  check(d.cuGraphKernelNodeGetParams(node, &parameters));
  const char* name = nullptr;
  const bool names_kernel = parameters.func == nullptr;
  if (!names_kernel) parameters.kern = reinterpret_cast<CUkernel>(parameters.func);
  report.add("captured_node_names_a_kernel", names_kernel);
  report.add("captured_node_names_the_same_kernel", parameters.kern == kernel);
  report.add("name_of_captured_kernel", name_of(d.cuKernelGetName(&name, parameters.kern)));
  parameters.func = nullptr;
  check(d.cuCtxFromGreenCtx(&parameters.ctx, green.context));
  check(d.cuGraphCreate(&graph, 0));
  check(d.cuGraphAddKernelNode(&made, graph, nullptr, 0, &parameters));
  check(d.cuGraphInstantiate(&executable, graph, 0));
  check(d.cuGraphLaunch(executable, stream));
  return multiprocessors_used(counts, most, stream);
}

// Start of a kernel like NCCL's behind its predecessor, while fill of so many blocks is resident; microseconds.
double start_next_to(CUstream fill_stream, unsigned fill_blocks, int count) {
  const CUstream stream = make_stream();
  const CUevent begun = make_event();
  Spin hold, spin;
  Busy fill, predecessor;
  const unsigned cluster = gpu().major >= 9 ? 4 : 1;
  std::vector<double> starts;
  for (int attempt = 0; attempt < count; ++attempt) {
    hold.launch(stream);
    check(driver().cuEventRecord(begun, stream));
    check(driver().cuStreamWaitEvent(fill_stream, begun, 0));
    fill.launch_resident(fill_stream, fill_microseconds, fill_blocks);
    predecessor.launch(stream, predecessor_microseconds);
    spin.launch_released(stream, 4, cluster);
    hold.release();
    check(driver().cuStreamSynchronize(stream));
    check(driver().cuStreamSynchronize(fill_stream));
    starts.push_back(static_cast<double>(spin.started() - predecessor.ended()) / 1e3);
  }
  return quantile(starts, 0.99);
}

double launch_nanoseconds(CUstream stream, int count) {
  Busy stamp;
  std::vector<double> times;
  for (int index = 0; index < count; ++index) {
    const int64_t begin = now();
    stamp.launch(stream, 0);
    times.push_back(static_cast<double>(now() - begin));
    check(driver().cuStreamSynchronize(stream));
  }
  return median(times);
}

std::string measure(const Options& options, Report& report) {
  use_gpu();
  const int count = options.quick ? 10 : 50;
  const GreenStream green = make_green_stream();
  const CUstream plain = make_stream();
  const auto all = static_cast<unsigned>(gpu().multiprocessors);
  // More blocks than fit at once: what a job does that knows no cap.
  const int uncapped_plain = spread(plain, 16 * all), uncapped_green = spread(green.stream, 16 * all);
  if (uncapped_plain == 0) throw Skipped("kernels do not tell here which multiprocessors they run on");
  const double capped = start_next_to(plain, green.multiprocessors, count);
  const double in_green = start_next_to(green.stream, green.multiprocessors, count);
  const double uncapped_start = start_next_to(green.stream, all, count);
  const double launch_plain = launch_nanoseconds(plain, 10 * count);
  const double launch_green = launch_nanoseconds(green.stream, 10 * count);
  report.add("multiprocessors_given", static_cast<int>(green.multiprocessors));
  report.add("used_by_uncapped_grid", uncapped_plain);
  report.add("used_by_uncapped_grid_in_green_context", uncapped_green);
  answered(report, "used_by_uncapped_graph_node_in_green_context",
           [&] { report.add("used_by_uncapped_graph_node_in_green_context", spread_of_node(green, plain, 16 * all)); });
  answered(report, "used_by_captured_kernel_moved_into_green_context", [&] {
    report.add("used_by_captured_kernel_moved_into_green_context", spread_of_moved_node(green, plain, 16 * all, report));
  });
  report.add("start_p99_next_to_capped_grid_us", capped);
  report.add("start_p99_next_to_green_context_us", in_green);
  report.add("start_p99_next_to_uncapped_grid_in_green_context_us", uncapped_start);
  report.add("launch_ns", launch_plain);
  report.add("launch_in_green_context_ns", launch_green);
  return format(
      "Given %u of %u multiprocessors, an uncapped grid in a green context uses %d (outside %d); a kernel of NCCL's "
      "shape "
      "starts within %.1f us next to a capped grid, %.1f next to the same in a green context, %.1f next to an uncapped "
      "one "
      "there; a launch takes %.0f ns, in the green context %.0f",
      green.multiprocessors, all, uncapped_green, uncapped_plain, capped, in_green, uncapped_start, launch_plain,
      launch_green);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "green_context", probe::measure);
}
