// Commands for a stream: values that describe work. Built by the API functions (any thread), executed by the
// engine any number of times (a graph keeps them). Copying a command is cheap. Nothing here may depend on a stream.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/host_kernels.h"
#include "engine/multiprocessors.h"
#include "simgpu/kernels.h"

namespace simgpu {

struct Event;
class EventRecord;
struct GraphProgram;

// One kernel launch. `parameters` are copies, owned here: see KernelLaunch::set_parameters.
struct KernelLaunch {
  const KernelImage* image = nullptr;
  CUfunction function = nullptr;  // as the caller named it; B uses it for graph nodes
  simgpu_launch shape{};          // shape.parameters points into this object
  uint32_t cluster_blocks = 1;
  bool cooperative = false;
  bool programmatic = false;  // from a launch attribute: the launch before it need not be over
  bool has_priority = false;  // from a launch attribute; otherwise the stream's
  int priority = 0;

  // Copies what kernelParams points at, by the sizes the host kernel was registered with (none known: nothing is
  // copied).
  void set_parameters(void* const* parameters);
  // The same from CU_LAUNCH_PARAM_BUFFER_POINTER; false when the buffer is too small for the known sizes.
  bool set_parameter_buffer(const void* buffer, std::size_t size);

  uint64_t block_count() const { return uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2]; }
  uint32_t block_threads() const { return shape.block[0] * shape.block[1] * shape.block[2]; }

  KernelLaunch() = default;
  KernelLaunch(const KernelLaunch&) = delete;
  KernelLaunch& operator=(const KernelLaunch&) = delete;

 private:
  std::vector<std::byte> storage_;
  std::vector<const void*> pointers_;
  bool allocate();
};

enum class CopyKind : uint8_t { host_to_device, device_to_host, device_to_device, host_to_host };

// A box of bytes, row by row: width x height x depth. A linear copy has height 1 and depth 1.
struct CopyBox {
  std::byte* destination = nullptr;
  const std::byte* source = nullptr;
  std::size_t destination_pitch = 0, destination_height = 0;
  std::size_t source_pitch = 0, source_height = 0;
  std::size_t width = 0, height = 1, depth = 1;
  std::vector<std::byte> staged;  // the source itself, when it was pageable and copied at the call
  std::size_t bytes() const { return width * height * depth; }
  void execute() const;
};

struct SetBox {
  std::byte* destination = nullptr;
  std::size_t pitch = 0;
  uint32_t value = 0;
  uint32_t element_bytes = 1;
  std::size_t width = 0, height = 1;  // width in elements
  std::size_t bytes() const { return width * height * element_bytes; }
  void execute() const;
};

struct KernelCommand {
  std::shared_ptr<const KernelLaunch> launch;
};
struct CopyCommand {
  CopyKind kind;
  std::shared_ptr<const CopyBox> box;
};
struct SetCommand {
  std::shared_ptr<const SetBox> box;
};
// cuLaunchHostFunc and cuStreamAddCallback.
struct HostCommand {
  CUhostFn function = nullptr;
  CUstreamCallback callback = nullptr;  // instead of function
  CUstream stream = nullptr;            // for callback
  void* user_data = nullptr;
};
// `record` is filled in by the engine when the command is submitted to a stream; it stays null inside graphs.
struct RecordCommand {
  Event* event = nullptr;
  unsigned flags = 0;
  EventRecord* record = nullptr;
  bool joins = false;  // the event's last record stands for this place as well
};
// Without an event `record` is given.
struct WaitCommand {
  Event* event = nullptr;
  unsigned flags = 0;
  EventRecord* record = nullptr;
};
struct MemoryOperation {
  enum class Kind : uint8_t { write, wait, barrier };
  Kind kind = Kind::write;
  uint8_t bytes = 4;
  uint8_t comparison = 0;  // CUstreamWaitValue_flags without CU_STREAM_WAIT_VALUE_FLUSH
  void* address = nullptr;
  uint64_t value = 0;
};
struct MemoryBatch {
  std::shared_ptr<const std::vector<MemoryOperation>> operations;
};
struct GraphCommand {
  std::shared_ptr<const GraphProgram> program;
};
// Runs at its place in the stream, on whatever thread advances the engine, under the engine's lock: must be short, must
// not call the driver. For stream-ordered allocation and free.
struct ActionCommand {
  std::shared_ptr<const std::function<void()>> action;
};
struct EmptyCommand {};

using Command = std::variant<EmptyCommand, KernelCommand, CopyCommand, SetCommand, HostCommand, RecordCommand,
                             WaitCommand, MemoryOperation, MemoryBatch, GraphCommand, ActionCommand>;

// An instantiated graph: immutable, may run several times, one run after the other per executable graph.
struct GraphProgram {
  struct Node {
    Command command;
    uint32_t dependencies = 0;         // how many nodes have to finish first
    std::vector<uint32_t> successors;  // indices into nodes
    bool has_priority = false;
    int priority = 0;
    SmShare share;  // of the node's own context, whatever stream the graph is launched into
  };
  std::vector<Node> nodes;
  std::vector<CUcontext> contexts;  // green ones that nodes belong to
};

}  // namespace simgpu
