// What does NCCL's kernel for a receive ask of a multiprocessor: threads, registers, shared memory, cluster, blocks?
// The simulated NCCL and every probe with a spinning kernel assume it.
//
// Run by scripts/gpu-proof. Two ranks on one GPU capture a receive into a graph and look at its kernel node; the graph
// is never launched.
#include <algorithm>
#include <functional>

#include "ranks.h"
#include "report.h"

namespace probe {
namespace {

constexpr std::size_t message_bytes = std::size_t{4} << 20;

struct Shape {
  double threads, registers, shared, cluster, blocks;
};

Shape shape_of(CUgraphNode node) {
  const Driver& d = driver();
  CUDA_KERNEL_NODE_PARAMS parameters{};
  check(d.cuGraphKernelNodeGetParams(node, &parameters));
  int registers = 0;
  if (parameters.kern != nullptr) {
    check(d.cuKernelGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, parameters.kern, gpu().device));
  } else {
    check(d.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, parameters.func));
  }
  CUlaunchAttributeValue cluster{};
  check(d.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &cluster));
  return {static_cast<double>(parameters.blockDimX), static_cast<double>(registers),
          static_cast<double>(parameters.sharedMemBytes), static_cast<double>(std::max(1U, cluster.clusterDim.x)),
          static_cast<double>(parameters.gridDimX)};
}

// The kernel of one operation, from a capture that is never launched.
Shape capture(const Rank& rank, const std::function<void()>& operation) {
  operation();  // connections are made on first use, and may not be in a capture
  check(driver().cuStreamSynchronize(rank.stream()));
  check(driver().cuStreamBeginCapture(rank.stream(), CU_STREAM_CAPTURE_MODE_RELAXED));
  operation();
  CUgraph graph = nullptr;
  check(driver().cuStreamEndCapture(rank.stream(), &graph));
  CUgraphNode nodes[64];
  std::size_t count = std::size(nodes);
  check(driver().cuGraphGetNodes(graph, nodes, &count));
  for (std::size_t index = 0; index < std::min(count, std::size(nodes)); ++index) {
    CUgraphNodeType type{};
    check(driver().cuGraphNodeGetType(nodes[index], &type));
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) return shape_of(nodes[index]);
  }
  throw std::runtime_error("the capture of an operation has no kernel");
}

std::string measure_rank(Rank rank) {
  rank.connect();
  const int peer = 1 - rank.number();
  const Shape receive =
      capture(rank, [&] { rank.number() == 0 ? rank.receive(message_bytes, peer) : rank.send(message_bytes, peer); });
  const Shape collective = capture(rank, [&] { rank.all_reduce(message_bytes); });
  if (rank.number() != 0) Rank::stay();
  return join({receive.threads, receive.registers, receive.shared, receive.blocks, receive.cluster, collective.blocks,
               collective.cluster});
}

std::string measure(const Options& options, Report& report) {
  if (!options.part.empty()) return measure_rank(Rank(options.part));
  gpu();
  // As many blocks as NCCL likes, not the few with which ranks share a GPU.
  const std::vector<double> numbers = Ranks(2, "shape", {{"NCCL_MAX_CTAS", "32"}}).numbers_of_first();
  const char* names[] = {"nccl_threads_per_block", "nccl_registers_per_thread", "nccl_shared_per_block",
                         "nccl_blocks_per_peer",   "cluster_of_receive",        "blocks_of_collective",
                         "nccl_cluster_size"};
  for (std::size_t index = 0; index < std::size(names); ++index) report.add(names[index], numbers.at(index));
  return format(
      "NCCL's kernel for a receive of %zu MiB over sockets has %.0f blocks of %.0f threads in clusters of %.0f, %.0f "
      "registers per thread and %.0f bytes of dynamic shared memory; that of an all-reduce has %.0f blocks in clusters "
      "of "
      "%.0f",
      message_bytes >> 20, numbers[3], numbers[0], numbers[4], numbers[1], numbers[2], numbers[5], numbers[6]);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "nccl_kernel_shape", probe::measure, probe::longest_probe_with_ranks);
}
