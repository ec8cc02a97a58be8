// Can the shim's markers be captured into a CUDA graph, and do they work when it is replayed? If so, receives inside
// captured steps could be seen.
//
// Run by scripts/gpu-proof; main thread only.
#include <algorithm>

#include "gpu.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr uint32_t written_value = 7;

struct Places {
  CUstream stream = make_stream();
  uint32_t* word = make_pinned<uint32_t>();
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(word);
  CUevent event = make_event();
  Busy before, after;
};

struct Kind {
  const char* key;
  bool is_event;
  std::function<CUresult(const Places&)> enqueue;
};

CUresult write(const Places& places) {
  return driver().cuStreamWriteValue32(places.stream, places.address, written_value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

CUresult write_batch(const Places& places) {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = places.address;
  operation.writeValue.value = written_value;
  return driver().cuStreamBatchMemOp(places.stream, 1, &operation, 0);
}

const Kind kinds[] = {
    {"write", false, write},
    {"batch", false, write_batch},
    {"external_event", true,
     [](const Places& places) {
       return driver().cuEventRecordWithFlags(places.event, places.stream, CU_EVENT_RECORD_EXTERNAL);
     }},
};

std::string types_of(CUgraph graph) {
  CUgraphNode nodes[16];
  std::size_t count = std::size(nodes);
  check(driver().cuGraphGetNodes(graph, nodes, &count));
  std::string types;
  for (std::size_t index = 0; index < std::min(count, std::size(nodes)); ++index) {
    CUgraphNodeType type{};
    check(driver().cuGraphNodeGetType(nodes[index], &type));
    types += (types.empty() ? "" : " ") + std::to_string(type);
  }
  return types;
}

bool works_in(CUgraphExec executable, const Kind& kind, const Places& places) {
  for (int replay = 0; replay < 2; ++replay) {
    __atomic_store_n(places.word, 0, __ATOMIC_RELEASE);
    check(driver().cuGraphLaunch(executable, places.stream));
    check(driver().cuStreamSynchronize(places.stream));
    if (kind.is_event ? !is_done(places.event) : __atomic_load_n(places.word, __ATOMIC_ACQUIRE) != written_value)
      return false;
  }
  return true;
}

// Between two kernels in a capture, as the shim would enqueue it.
bool try_kind(const Kind& kind, Places& places, Report& report) {
  const std::string key = kind.key;
  check(driver().cuStreamBeginCapture(places.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  places.before.launch(places.stream, 0);
  const CUresult enqueued = kind.enqueue(places);
  if (enqueued == CUDA_SUCCESS) places.after.launch(places.stream, 0);
  CUgraph graph = nullptr;
  const CUresult ended = driver().cuStreamEndCapture(places.stream, &graph);
  report.add(key + "_capture", name_of(enqueued));
  report.add(key + "_end_of_capture", name_of(ended));
  bool works = false;
  if (enqueued == CUDA_SUCCESS && ended == CUDA_SUCCESS) {
    report.add(key + "_node_types", types_of(graph));
    CUgraphExec executable = nullptr;
    const CUresult made = driver().cuGraphInstantiate(&executable, graph, 0);
    report.add(key + "_instantiate", name_of(made));
    works = made == CUDA_SUCCESS && works_in(executable, kind, places);
  }
  report.add(key + "_works", works);
  return works;
}

std::string measure(const Options&, Report& report) {
  use_gpu();
  Places places;
  std::string works, does_not;
  for (const Kind& kind : kinds) {
    std::string& list = try_kind(kind, places, report) ? works : does_not;
    list += (list.empty() ? "" : ", ") + std::string(kind.key);
  }
  return "Captured into a graph and replayed, these markers work: " + (works.empty() ? "none" : works) +
         "; these do not: " + (does_not.empty() ? "none" : does_not);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "writes_in_graphs", probe::measure);
}
