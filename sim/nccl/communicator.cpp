// Making, connecting and ending a communicator. Host threads only.
#include "communicator.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "driver.h"
#include "errors.h"

namespace simgpu::nccl {
namespace {

constexpr std::chrono::milliseconds liveness_period(10);

int64_t steady_nanoseconds() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace

DeviceStream::~DeviceStream() {
  const ContextScope scope(context);
  if (scratch != nullptr) driver()->cuEventDestroy(scratch);
  if (stream != nullptr) driver()->cuStreamDestroy(stream);
}

Worker::~Worker() {
  if (thread.joinable()) thread.join();
}

Communicator::Communicator(int ranks, int rank, const Settings& settings)
    : process_(getpid()),
      ranks_(ranks),
      rank_(rank),
      settings_(settings),
      send_connected_(static_cast<size_t>(ranks)),
      receive_connected_(static_cast<size_t>(ranks)) {}

Communicator::~Communicator() {
  worker.reset();
  mark_ = 0;
  if (endpoint_ != nullptr) endpoint_->abort();
  if (segment_ != nullptr) {
    segment_->rank(rank_).closed.store(1);
    segment_->notify();
  }
  for (const auto& [number, plan] : plans_) remove_plan(number);
  if (context_ == nullptr) return;
  const ContextScope scope(context_);
  const RelaxedCapture relaxed;
  for (void* buffer : buffers_) ncclMemFree(buffer);
  device_stream_.reset();
}

bool Communicator::own_process() const {
  return process_ == getpid();
}

void Communicator::leave() {
  if (users_.fetch_sub(1) == 1) users_.notify_all();
}

ncclResult_t Communicator::bind_context() {
  CUresult result = driver()->cuInit(0);
  if (result != CUDA_SUCCESS) return driver_failed("cuInit", result);
  result = driver()->cuCtxGetCurrent(&context_);
  if (result != CUDA_SUCCESS) return driver_failed("cuCtxGetCurrent", result);
  if (context_ == nullptr) {
    result = driver()->cuDevicePrimaryCtxRetain(&context_, 0);
    if (result != CUDA_SUCCESS) return driver_failed("cuDevicePrimaryCtxRetain", result);
    driver()->cuCtxSetCurrent(context_);
  }
  result = driver()->cuCtxGetDevice(&device_);
  return result == CUDA_SUCCESS ? ncclSuccess : driver_failed("cuCtxGetDevice", result);
}

ncclResult_t Communicator::give_up() const {
  if (stop_.load()) return fail(ncclInternalError, "the communicator was aborted");
  for (int peer = 0; peer < ranks_; ++peer) {
    const RankRecord& record = segment_->rank(peer);
    if (peer == rank_ || record.joined.load() != 1 || record.closed.load() != 0) continue;
    if (process_ended(record.process)) return fail(ncclRemoteError, "the process of rank %d has ended", peer);
  }
  return ncclSuccess;
}

// Waits until every rank has entered itself.
ncclResult_t Communicator::meet(const Address& address) {
  const char* error = nullptr;
  segment_ = Segment::open(address, ranks_, &error);
  if (segment_ == nullptr) return fail(ncclSystemError, "%s", error);
  RankRecord& record = segment_->rank(rank_);
  uint32_t free_place = 0;
  if (!record.joined.compare_exchange_strong(free_place, 2)) {
    segment_.reset();
    return fail(ncclInvalidUsage, "rank %d has joined the communicator already", rank_);
  }
  record.process = process_;
  record.doorbell = driver()->services->doorbell_fd();
  record.device = device_;
  record.joined.store(1);
  segment_->notify();
  const auto all_there = [this] {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (segment_->rank(peer).joined.load() != 1) return false;
    }
    return true;
  };
  return segment_->wait(all_there, [&] {
    if (process_ended(address.process)) return fail(ncclRemoteError, "the process that made the unique id has ended");
    return give_up();
  });
}

ncclResult_t Communicator::make_device_side(std::vector<int> world_ranks, std::shared_ptr<DeviceStream> stream) {
  if (world_ranks.empty()) {
    for (int peer = 0; peer < ranks_; ++peer) world_ranks.push_back(peer);
  }
  auto endpoint = std::make_shared<Endpoint>(segment_, rank_, &LinkModel::from_environment(), std::move(world_ranks));
  for (int peer = 0; peer < ranks_; ++peer) {
    const RankRecord& record = segment_->rank(peer);
    if (peer != rank_ && record.process == process_ && record.device == device_) {
      return fail(ncclInvalidUsage, "ranks %d and %d of one process use the same GPU", rank_, peer);
    }
    if (!endpoint->doorbells().open(peer, record.process, record.doorbell)) {
      return fail(ncclSystemError, "the doorbell of rank %d cannot be reached", peer);
    }
  }
  if (const ncclResult_t result = load_kernels(); result != ncclSuccess) return result;
  if (stream == nullptr) {
    stream = std::make_shared<DeviceStream>();
    stream->context = context_;
    CUresult result = driver()->cuStreamCreateWithPriority(&stream->stream, CU_STREAM_NON_BLOCKING, 0);
    if (result != CUDA_SUCCESS) return driver_failed("cuStreamCreateWithPriority", result);
    result = driver()->cuEventCreate(&stream->scratch, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) return driver_failed("cuEventCreate", result);
  }
  device_stream_ = std::move(stream);
  endpoint_ = std::move(endpoint);
  return ncclSuccess;
}

ncclResult_t Communicator::join(const Address& address, std::vector<int> world_ranks,
                                std::shared_ptr<DeviceStream> stream) {
  const ContextScope scope(context_);
  if (const ncclResult_t result = meet(address); result != ncclSuccess) return result;
  const ncclResult_t made = make_device_side(std::move(world_ranks), std::move(stream));
  // Every rank hears whether all succeeded, so that none waits for one that has given up.
  std::vector<char> all(static_cast<size_t>(ranks_) * exchange_bytes);
  const ncclResult_t met = segment_->exchange(rank_, &made, sizeof made, all.data(), [this] { return give_up(); });
  Segment::release(address);
  if (made != ncclSuccess || met != ncclSuccess) {
    endpoint_.reset();
    return made != ncclSuccess ? made : met;
  }
  for (int peer = 0; peer < ranks_; ++peer) {
    ncclResult_t theirs;
    std::memcpy(&theirs, all.data() + static_cast<size_t>(peer) * exchange_bytes, sizeof theirs);
    if (theirs == ncclSuccess) continue;
    endpoint_.reset();
    return fail(theirs == ncclInvalidUsage ? ncclInvalidUsage : ncclRemoteError, "rank %d failed", peer);
  }
  return ncclSuccess;
}

ncclResult_t Communicator::split(int color, int key, const Settings& settings, std::unique_ptr<ncclComm>* child) {
  struct Wish {
    int color;
    int key;
    int rank;
  };
  const auto cancel = [this] { return give_up(); };
  std::vector<char> all(static_cast<size_t>(ranks_) * exchange_bytes);
  const Wish mine{color, key, rank_};
  ncclResult_t result = segment_->exchange(rank_, &mine, sizeof mine, all.data(), cancel);
  if (result != ncclSuccess) return result;
  std::vector<Wish> members;
  for (int peer = 0; peer < ranks_; ++peer) {
    Wish wish;
    std::memcpy(&wish, all.data() + static_cast<size_t>(peer) * exchange_bytes, sizeof wish);
    if (wish.color == color) members.push_back(wish);
  }
  std::sort(members.begin(), members.end(),
            [](const Wish& a, const Wish& b) { return std::pair(a.key, a.rank) < std::pair(b.key, b.rank); });
  const bool part = color != NCCL_SPLIT_NOCOLOR;
  Address address{};
  if (part && members.front().rank == rank_ && !Segment::create(segment_->fifo_bytes(), &address)) {
    address = Address{};
  }
  result = segment_->exchange(rank_, &address, sizeof address, all.data(), cancel);
  if (result != ncclSuccess || !part) return result;
  std::memcpy(&address, all.data() + static_cast<size_t>(members.front().rank) * exchange_bytes, sizeof address);
  if (!Segment::valid(address)) return fail(ncclSystemError, "no shared memory for a split communicator");
  std::vector<int> world_ranks;
  int place = 0;
  for (const Wish& member : members) {
    if (member.rank == rank_) place = static_cast<int>(world_ranks.size());
    world_ranks.push_back(endpoint_->world_ranks()[static_cast<size_t>(member.rank)]);
  }
  auto made = std::make_unique<ncclComm>(static_cast<int>(members.size()), place, settings);
  made->context_ = context_;
  made->device_ = device_;
  result = made->join(address, std::move(world_ranks), settings.share ? device_stream_ : nullptr);
  if (result == ncclSuccess) *child = std::move(made);
  return result;
}

// Waits until all ranks have come here.
ncclResult_t Communicator::meet_all() {
  const char nothing = 0;
  std::vector<char> all(static_cast<size_t>(ranks_) * exchange_bytes);
  return segment_->exchange(rank_, &nothing, sizeof nothing, all.data(), [this] { return give_up(); });
}

ncclResult_t Communicator::agree(const Address& mine, Address* address) {
  std::vector<char> all(static_cast<size_t>(ranks_) * exchange_bytes);
  const ncclResult_t result = segment_->exchange(rank_, &mine, sizeof mine, all.data(), [this] { return give_up(); });
  for (int peer = 0; result == ncclSuccess && peer < ranks_; ++peer) {
    std::memcpy(address, all.data() + static_cast<size_t>(peer) * exchange_bytes, sizeof *address);
    if (Segment::valid(*address)) return ncclSuccess;
  }
  return result != ncclSuccess ? result
                               : fail(ncclInvalidArgument, "no rank of the communicator has the id to grow by");
}

void Communicator::adopt_device(const Communicator& parent) {
  context_ = parent.context_;
  device_ = parent.device_;
}

// Before the others can put into it: none of them goes on until this rank has come to the exchange.
ncclResult_t Communicator::register_window(void* memory, uint64_t bytes, uint64_t* number) {
  *number = endpoint_->add_window(memory, bytes);
  return meet_all();
}

ncclResult_t Communicator::suspend() {
  const ContextScope scope(context_);
  const CUresult waited = driver()->cuCtxSynchronize();
  if (waited != CUDA_SUCCESS) return driver_failed("cuCtxSynchronize", waited);
  if (const ncclResult_t result = meet_all(); result != ncclSuccess) return result;
  for (void*& buffer : buffers_) ncclMemFree(std::exchange(buffer, nullptr));
  suspended_.store(true);
  return ncclSuccess;
}

ncclResult_t Communicator::resume() {
  const ContextScope scope(context_);
  for (void*& buffer : buffers_) {
    if (buffer != nullptr) continue;
    if (const ncclResult_t result = ncclMemAlloc(&buffer, segment_->fifo_bytes()); result != ncclSuccess) return result;
  }
  const ncclResult_t result = meet_all();
  if (result == ncclSuccess) suspended_.store(false);
  return result;
}

namespace {

bool is_one_sided(const Transfer& transfer) {
  return transfer.kind == LinkKind::one_sided;
}

}  // namespace

void Communicator::announce(const Plan& plan) {
  for (const Transfer& send : plan.sends) {
    if (!is_one_sided(send)) segment_->link(rank_, send.peer).sender_connected.store(1);
  }
  for (const Transfer& receive : plan.receives) {
    if (!is_one_sided(receive)) segment_->link(receive.peer, rank_).receiver_connected.store(1);
  }
  segment_->notify();
}

namespace {

// How long the host was kept in the group call by a connection: the GPU has no kernel to show for that time.
void log_connection(std::chrono::steady_clock::time_point begun) {
  const auto nanoseconds = [](std::chrono::steady_clock::time_point time) {
    return static_cast<long long>(std::chrono::nanoseconds(time.time_since_epoch()).count());
  };
  char line[128];
  std::snprintf(line, sizeof line, R"({"type":"connection","start":%lld,"end":%lld})", nanoseconds(begun),
                nanoseconds(std::chrono::steady_clock::now()));
  driver()->services->log(line);
}

}  // namespace

// The first one-sided operation of a communicator sets it up, and all ranks have to come to theirs.
ncclResult_t Communicator::connect_one_sided(const Plan& plan, bool* waited) {
  const bool wanted = std::any_of(plan.sends.begin(), plan.sends.end(), is_one_sided) ||
                      std::any_of(plan.receives.begin(), plan.receives.end(), is_one_sided);
  if (!wanted || one_sided_ready_) return ncclSuccess;
  *waited = true;
  const ncclResult_t result = meet_all();
  one_sided_ready_ = result == ncclSuccess;
  return result;
}

ncclResult_t Communicator::connect(const Plan& plan) {
  const auto begun = std::chrono::steady_clock::now();
  bool waited = false;
  const auto with = [this, &waited](std::vector<bool>& connected, int peer, const std::atomic<uint32_t>& other) {
    if (connected[static_cast<size_t>(peer)]) return ncclSuccess;
    waited = true;
    ncclResult_t result = segment_->wait([&] { return other.load() != 0; }, [this] { return give_up(); });
    if (result != ncclSuccess) return result;
    void* buffer = nullptr;
    if (peer != rank_) result = ncclMemAlloc(&buffer, segment_->fifo_bytes());
    if (result != ncclSuccess) return result;
    if (buffer != nullptr) buffers_.push_back(buffer);
    connected[static_cast<size_t>(peer)] = true;
    return ncclSuccess;
  };
  if (const ncclResult_t result = connect_one_sided(plan, &waited); result != ncclSuccess) return result;
  for (const Transfer& send : plan.sends) {
    if (is_one_sided(send)) continue;
    const ncclResult_t result = with(send_connected_, send.peer, segment_->link(rank_, send.peer).receiver_connected);
    if (result != ncclSuccess) return result;
  }
  for (const Transfer& receive : plan.receives) {
    if (is_one_sided(receive)) continue;
    const ncclResult_t result =
        with(receive_connected_, receive.peer, segment_->link(receive.peer, rank_).sender_connected);
    if (result != ncclSuccess) return result;
  }
  if (waited) log_connection(begun);
  return ncclSuccess;
}

void Communicator::reclaim() {
  const auto over = [](const auto& entry) {
    if (entry.second->plan.captured || !entry.second->plan.finished.load()) return false;
    remove_plan(entry.first);
    return true;
  };
  plans_.erase(std::remove_if(plans_.begin(), plans_.end(), over), plans_.end());
}

void Communicator::keep(uint64_t number, std::shared_ptr<LaunchedPlan> plan) {
  reclaim();
  plans_.emplace_back(number, std::move(plan));
}

ncclResult_t Communicator::finish() {
  if (device_stream_ == nullptr) return ncclSuccess;
  const ContextScope scope(context_);
  const RelaxedCapture relaxed;
  const CUresult result = driver()->cuStreamSynchronize(device_stream_->stream);
  return result == CUDA_SUCCESS ? ncclSuccess : driver_failed("cuStreamSynchronize", result);
}

void Communicator::abort() {
  stop_.store(true);
  for (int users = users_.load(); users > 0; users = users_.load()) users_.wait(users);
  worker.reset();
  if (endpoint_ == nullptr) return;
  endpoint_->abort();
  finish();
}

void Communicator::revoke() {
  revoked_.store(true);
  if (endpoint_ == nullptr) return;
  endpoint_->abort();
  finish();
}

ncclResult_t Communicator::asynchronous_state() {
  const ncclResult_t state = state_.load();
  if (state != ncclSuccess || endpoint_ == nullptr) return state;
  std::string message;
  if (const ncclResult_t result = endpoint_->fault(&message); result != ncclSuccess) {
    return fail(result, "%s", message.c_str());
  }
  const int64_t now = steady_nanoseconds();
  if (lost_peer_.load() < 0 && now >= next_liveness_check_.load()) {
    next_liveness_check_.store(now + std::chrono::nanoseconds(liveness_period).count());
    int peer = -1;
    if (endpoint_->peer_lost(&peer)) lost_peer_.store(peer);
  }
  if (lost_peer_.load() < 0) return ncclSuccess;
  return fail(ncclRemoteError, "the process of rank %d has ended", lost_peer_.load());
}

}  // namespace simgpu::nccl
