// A graph that one process has recorded, built again in another one from what the driver tells of it (names, grids,
// bytes of the parameters) and from the memory's contents at the same address: does it give the same results, bit for
// bit?
//
// Run by scripts/gpu-proof. Each side is a process of its own with a time limit. The kernels are the probes' own; those
// of cuBLAS, Triton and others need their images, which only a hook of their loading has.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <vector>

#include "children.h"
#include "fixed_memory.h"
#include "report.h"

namespace probe {
namespace {

constexpr double time_for_each = 8;  // seconds
constexpr std::size_t words = std::size_t{1} << 18;
constexpr uint32_t factors[] = {3, 1'000'003, 17};  // of three launches in a row

struct Node {
  std::string kernel;
  unsigned blocks = 0, threads = 0, shared = 0;
  std::vector<std::vector<unsigned char>> parameters;
};

void place_memory() {
  std::string why;
  if (!reserve_at(package_base, std::size_t{1} << 30, why)) throw std::runtime_error("the address is not free: " + why);
  map_at(package_base, words * sizeof(uint32_t));
  std::vector<uint32_t> first(words);
  for (std::size_t index = 0; index < words; ++index) first[index] = static_cast<uint32_t>(index * index);
  check(driver().cuMemcpyHtoD(package_base, first.data(), words * sizeof(uint32_t)));
}

double result_of(CUgraph graph) {
  const CUstream stream = make_stream();
  CUgraphExec executable = nullptr;
  check(driver().cuGraphInstantiate(&executable, graph, 0));
  check(driver().cuGraphLaunch(executable, stream));
  check(driver().cuStreamSynchronize(stream));
  std::vector<uint32_t> found(words);
  check(driver().cuMemcpyDtoH(found.data(), package_base, words * sizeof(uint32_t)));
  uint64_t hash = 14695981039346656037U;
  for (const uint32_t word : found) hash = (hash ^ word) * 1099511628211U;
  return static_cast<double>(hash >> 12);  // as many bits as a number keeps
}

CUkernel mixing_kernel() {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  check(driver().cuLibraryLoadData(&library, kernel_image(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  check(driver().cuLibraryGetKernel(&kernel, library, "probe_mix"));
  return kernel;
}

CUgraph capture() {
  const CUstream stream = make_stream();
  const CUkernel kernel = mixing_kernel();
  check(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (uint32_t factor : factors) {
    CUdeviceptr memory = package_base;
    uint64_t count = words;
    void* arguments[] = {&memory, &count, &factor};
    launch_with(reinterpret_cast<CUfunction>(kernel), {64, 256, 1, 0, {}}, stream, arguments);
  }
  CUgraph graph = nullptr;
  check(driver().cuStreamEndCapture(stream, &graph));
  return graph;
}

// The nodes of a graph in which each has one after it at most, in their order.
std::vector<CUgraphNode> in_order(CUgraph graph) {
  std::size_t count = 0, edges = 0;
  check(driver().cuGraphGetNodes(graph, nullptr, &count));
  std::vector<CUgraphNode> nodes(count);
  check(driver().cuGraphGetNodes(graph, nodes.data(), &count));
  check(driver().cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  std::vector<CUgraphNode> from(edges), to(edges);
  check(driver().cuGraphGetEdges(graph, from.data(), to.data(), nullptr, &edges));
  std::map<CUgraphNode, CUgraphNode> next;
  for (std::size_t edge = 0; edge < edges; ++edge) next[from[edge]] = to[edge];
  std::vector<CUgraphNode> ordered;
  for (const CUgraphNode node : nodes)
    if (std::find(to.begin(), to.end(), node) == to.end()) ordered.push_back(node);
  if (ordered.size() != 1) throw std::runtime_error("the graph is no chain");
  while (next.contains(ordered.back())) ordered.push_back(next.at(ordered.back()));
  return ordered;
}

Node described(CUgraphNode node) {
  const Driver& d = driver();
  CUDA_KERNEL_NODE_PARAMS found{};
  check(d.cuGraphKernelNodeGetParams(node, &found));
  const CUkernel kernel = found.kern != nullptr ? found.kern : reinterpret_cast<CUkernel>(found.func);
  const char* name = nullptr;
  const bool is_kernel = d.cuKernelGetName(&name, kernel) == CUDA_SUCCESS;
  if (!is_kernel) check(d.cuFuncGetName(&name, found.func));
  Node made{name, found.gridDimX, found.blockDimX, found.sharedMemBytes, {}};
  for (std::size_t index = 0;; ++index) {
    std::size_t offset = 0, size = 0;
    const CUresult result = is_kernel ? d.cuKernelGetParamInfo(kernel, index, &offset, &size)
                                      : d.cuFuncGetParamInfo(found.func, index, &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE) return made;  // past the last one
    check(result);
    const auto* bytes = static_cast<const unsigned char*>(found.kernelParams[index]);
    made.parameters.emplace_back(bytes, bytes + size);
  }
}

// Part "record": what it finds goes into the file, the result's bits to the parent.
std::string record(const std::string& path) {
  use_gpu();
  place_memory();
  const CUgraph graph = capture();
  std::ofstream file(path);
  const std::vector<CUgraphNode> nodes = in_order(graph);
  for (const CUgraphNode each : nodes) {
    const Node node = described(each);
    file << node.kernel << ' ' << node.blocks << ' ' << node.threads << ' ' << node.shared << ' '
         << node.parameters.size();
    for (const auto& parameter : node.parameters) {
      file << ' ' << parameter.size();
      for (const unsigned byte : parameter) file << ' ' << byte;
    }
    file << '\n';
  }
  file.close();
  if (!file) throw std::runtime_error("the record cannot be written");
  return join({static_cast<double>(nodes.size()), result_of(graph)});
}

std::vector<Node> read(const std::string& path) {
  std::ifstream file(path);
  std::vector<Node> nodes;
  Node node;
  for (std::size_t count = 0; file >> node.kernel >> node.blocks >> node.threads >> node.shared >> count;) {
    node.parameters.assign(count, {});
    for (auto& parameter : node.parameters) {
      std::size_t size = 0;
      file >> size;
      for (unsigned byte = 0; parameter.size() < size && file >> byte;)
        parameter.push_back(static_cast<unsigned char>(byte));
    }
    nodes.push_back(node);
  }
  return nodes;
}

// Part "replay".
std::string replay(const std::string& path) {
  use_gpu();
  place_memory();
  CUlibrary library = nullptr;
  check(driver().cuLibraryLoadData(&library, kernel_image(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUgraph graph = nullptr;
  check(driver().cuGraphCreate(&graph, 0));
  CUgraphNode last = nullptr;
  std::vector<Node> nodes = read(path);
  for (Node& node : nodes) {
    CUDA_KERNEL_NODE_PARAMS wanted{};
    check(driver().cuLibraryGetKernel(&wanted.kern, library, node.kernel.c_str()));
    wanted.gridDimX = node.blocks;
    wanted.blockDimX = node.threads;
    wanted.gridDimY = wanted.gridDimZ = wanted.blockDimY = wanted.blockDimZ = 1;
    wanted.sharedMemBytes = node.shared;
    std::vector<void*> pointers;
    for (auto& parameter : node.parameters) pointers.push_back(parameter.data());
    wanted.kernelParams = pointers.data();
    CUgraphNode made = nullptr;
    check(driver().cuGraphAddKernelNode(&made, graph, &last, last != nullptr ? 1 : 0, &wanted));
    last = made;
  }
  return join({static_cast<double>(nodes.size()), result_of(graph)});
}

std::string measure(const Options& options, Report& report) {
  if (options.part.size() == 2) return (options.part[0] == "record" ? record : replay)(options.part[1]);
  gpu();
  // A file without a name, which the parts inherit: nothing is left behind, however this ends.
  const int file = memfd_create("record", 0);
  if (file < 0) throw std::runtime_error("no memory for the record");
  const std::string path = format("/proc/self/fd/%d", file);
  const std::vector<double> recorded = numbers_of_part({"record", path}, {}, time_for_each);
  const std::vector<double> replayed = numbers_of_part({"replay", path}, {}, time_for_each);
  const bool equal = recorded.size() == 2 && recorded == replayed;
  report.add("nodes", recorded.at(0));
  report.add("results_equal", equal);
  return format("A graph of %.0f kernels that another process has recorded gives %s results at the same address",
                recorded.at(0), equal ? "the same" : "OTHER");
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "graph_in_another_process", probe::measure);
}
