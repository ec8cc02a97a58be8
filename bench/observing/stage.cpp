// See stage.h.
#include "stage.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "gpu.h"

namespace observing {
namespace {

using probe::check;
using trainer::Instruction;

constexpr std::size_t message_floats = 16384;  // an activation of 64 KiB: its transfer is short beside the computing
constexpr unsigned block_size = 256;

void check(ncclResult_t result) {
  if (result != ncclSuccess) throw std::runtime_error("NCCL: error " + std::to_string(result));
}

template <class Value>
std::vector<std::byte> bytes_of(const Value& value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

void launch(const Calls& calls, CUstream stream, CUdeviceptr memory, std::uint64_t rounds) {
  void* arguments[] = {&memory, &rounds};
  CUfunction function = probe::gpu().functions[static_cast<std::size_t>(probe::Kernel::compute)];
  const auto blocks = static_cast<unsigned>(probe::gpu().multiprocessors);
  check(calls.cuLaunchKernel(function, blocks, 1, 1, block_size, 1, 1, 0, stream, arguments, nullptr));
}

}  // namespace

Stage::Stage(const trainer::Place& place, const Ways& ways, const Load& load)
    : ways_(ways),
      load_(load),
      program_(
          trainer::make_program({trainer::ScheduleKind::one_f_one_b, place.ranks, load.microbatches, 1}, place.rank)) {
  probe::use_gpu();
  compute_ = probe::make_stream();
  transfer_ = probe::make_stream();
  ready_ = probe::make_event();
  for (CUevent& end : ends_) end = probe::make_event(CU_EVENT_DEFAULT);
  int exchanges = 0;
  for (const Instruction& each : program_) exchanges += each.kind == Instruction::Kind::exchange ? 1 : 0;
  for (int exchange = 0; exchange < exchanges; ++exchange) received_.push_back(probe::make_event());
  memory_ = probe::make_device_memory(2 * message_floats * sizeof(float));
  calibrate();
  connect(place);
}

// Both ends of a message are allocated, and all kernels loaded, before the first group waits.
void Stage::connect(const trainer::Place& place) {
  ncclUniqueId id{};
  if (place.rank == 0) check(ways_.ncclGetUniqueId(&id));
  const std::vector<std::byte> shared =
      trainer::share_from_rank_0(place, place.rank == 0 ? bytes_of(id) : std::vector<std::byte>{});
  std::memcpy(&id, shared.data(), sizeof id);
  check(ways_.ncclCommInitRank(&communicator_, place.ranks, id, place.rank));
  iterate(ways_.direct);  // NCCL connects to a peer at the first message to it
  iterate(ways_.direct);
}

Stage::~Stage() {
  probe::driver().cuCtxSynchronize();
  if (communicator_ != nullptr) ways_.ncclCommDestroy(communicator_);
}

void Stage::calibrate() {
  std::uint64_t rounds = 64;
  double took = 0;
  while (took < 1 && rounds < std::uint64_t{1} << 40) {
    rounds *= 2;
    check(ways_.direct.cuEventRecord(ends_[0], compute_));
    launch(ways_.direct, compute_, memory_, rounds);
    check(ways_.direct.cuEventRecord(ends_[1], compute_));
    check(ways_.direct.cuStreamSynchronize(compute_));
    took = probe::elapsed_microseconds(ends_[0], ends_[1]) / 1e3;
  }
  rounds_per_millisecond_ = static_cast<double>(rounds) / took;
}

void Stage::compute(const Calls& calls, double milliseconds) {
  launch(calls, compute_, memory_, static_cast<std::uint64_t>(milliseconds * rounds_per_millisecond_));
}

void Stage::exchange(const Calls& calls, const Instruction& what) {
  const auto at = [&](bool received) {
    return reinterpret_cast<void*>(memory_ + (received ? message_floats * sizeof(float) : 0));
  };
  if (!what.sends.empty()) {
    check(calls.cuEventRecord(ready_, compute_));
    check(calls.cuStreamWaitEvent(transfer_, ready_, 0));
  }
  check(calls.ncclGroupStart());
  for (const trainer::Transfer& each : what.sends)
    check(calls.ncclSend(at(false), message_floats, ncclFloat, each.peer, communicator_, transfer_));
  for (const trainer::Transfer& each : what.receives)
    check(calls.ncclRecv(at(true), message_floats, ncclFloat, each.peer, communicator_, transfer_));
  check(calls.ncclGroupEnd());
  check(calls.cuEventRecord(event_of(what.exchange), transfer_));
  ++groups_;
}

// The gradients of all stages: what bounds an iteration.
void Stage::add_up(const Calls& calls) {
  check(calls.cuEventRecord(ready_, compute_));
  check(calls.cuStreamWaitEvent(transfer_, ready_, 0));
  auto* const data = reinterpret_cast<void*>(memory_);
  check(calls.ncclAllReduce(data, data, 1, ncclFloat, ncclSum, communicator_, transfer_));
  check(calls.cuEventRecord(ready_, transfer_));
  check(calls.cuStreamWaitEvent(compute_, ready_, 0));
  ++groups_;
}

void Stage::iterate(const Calls& calls) {
  groups_ = 0;
  for (const Instruction& each : program_) {
    switch (each.kind) {
      case Instruction::Kind::forward:
        compute(calls, load_.forward);
        break;
      case Instruction::Kind::backward:
        compute(calls, load_.backward);
        break;
      case Instruction::Kind::exchange:
        exchange(calls, each);
        break;
      case Instruction::Kind::wait:
        check(calls.cuStreamWaitEvent(compute_, event_of(each.exchange), 0));
        break;
    }
  }
  add_up(calls);
  // The measurement's own: never through a hook.
  check(ways_.direct.cuEventRecord(ends_[++iterations_ % 2], compute_));
  check(calls.cuStreamSynchronize(compute_));
}

double Stage::last_iteration() const {
  return probe::elapsed_microseconds(ends_[(iterations_ + 1) % 2], ends_[iterations_ % 2]) / 1e3;
}

}  // namespace observing
