// See ranks.h.
#include "ranks.h"

#include <dlfcn.h>
#include <ftw.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace probe {
namespace {

Nccl open_nccl() {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW);
  if (library == nullptr) throw Skipped("there is no NCCL (libnccl.so.2) on this machine");
  Nccl found;
#define FUNCTION(name)                                                        \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name)); \
  if (found.name == nullptr) throw Skipped("this NCCL has no " #name);
  PROBE_NCCL_FUNCTIONS(FUNCTION)
#undef FUNCTION
  return found;
}

// Sockets of the loopback device are all that connects ranks which claim to be on different hosts.
const Environment sockets = {{"NCCL_NET", "Socket"},    {"NCCL_SOCKET_IFNAME", "lo"}, {"NCCL_IB_DISABLE", "1"},
                             {"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"},    {"NCCL_RAS_ENABLE", "0"},
                             {"NCCL_MAX_CTAS", "2"}};

constexpr double patience = 18;  // seconds for the ranks of one experiment

std::string hexadecimal(const ncclUniqueId& id) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char letter : id.internal) {
    const auto byte = static_cast<unsigned char>(letter);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

ncclUniqueId id_of(const std::string& text) {
  ncclUniqueId id{};
  for (std::size_t index = 0; index < sizeof id.internal && 2 * index + 1 < text.size(); ++index) {
    id.internal[index] = static_cast<char>(std::stoi(text.substr(2 * index, 2), nullptr, 16));
  }
  return id;
}

}  // namespace

const Nccl& nccl() {
  static const Nccl instance = open_nccl();
  return instance;
}

void check(ncclResult_t result, const char* file, int line) {
  if (result == ncclSuccess) return;
  const std::string path = file;
  throw std::runtime_error(std::string("NCCL: ") + nccl().ncclGetErrorString(result) + " at " +
                           path.substr(path.rfind('/') + 1) + ":" + std::to_string(line));
}

Ranks::Ranks(int count, const std::string& task, const Environment& environment) {
  for (const auto& [name, value] : sockets) setenv(name.c_str(), value.c_str(), 1);
  ncclUniqueId id{};
  check(nccl().ncclGetUniqueId(&id));
  for (int number = 0; number < count; ++number) {
    Environment all = environment;
    all.emplace_back("NCCL_HOSTID", "probe-" + std::to_string(number));
    children_.emplace_back(
        std::vector<std::string>{"rank", std::to_string(number), std::to_string(count), hexadecimal(id), task}, all);
  }
}

Ranks::~Ranks() {
  for (Child& each : children_) each.wait(0);
}

std::vector<double> Ranks::numbers_of_first() {
  const Child::Result result = children_.front().wait(patience);
  children_.erase(children_.begin());
  for (std::size_t number = 1; result.too_slow && !children_.empty(); ++number) {
    const Child::Result other = children_.front().wait(0);
    children_.erase(children_.begin());
    if (!other.too_slow) numbers_of(other, "rank " + std::to_string(number), patience);
  }
  return numbers_of(result, "rank 0", patience);
}

Rank::Rank(const std::vector<std::string>& part)
    : number_(std::stoi(part.at(1))), count_(std::stoi(part.at(2))), id_(part.at(3)), task_(part.at(4)) {
  use_gpu();
  stream_ = make_stream();
  buffer_ = make_device_memory(buffer_bytes);
}

void Rank::connect() {
  check(nccl().ncclCommInitRank(&communicator_, count_, id_of(id_), number_));
}

void Rank::send(std::size_t bytes, int to) const {
  check(nccl().ncclSend(reinterpret_cast<const void*>(buffer_), bytes, ncclInt8, to, communicator_,
                        reinterpret_cast<cudaStream_t>(stream_)));
}

void Rank::receive(std::size_t bytes, int from) const {
  check(nccl().ncclRecv(reinterpret_cast<void*>(buffer_), bytes, ncclInt8, from, communicator_,
                        reinterpret_cast<cudaStream_t>(stream_)));
}

void Rank::all_reduce(std::size_t bytes) const {
  void* const buffer = reinterpret_cast<void*>(buffer_);
  check(nccl().ncclAllReduce(buffer, buffer, bytes, ncclInt8, ncclSum, communicator_,
                             reinterpret_cast<cudaStream_t>(stream_)));
}

void Rank::abort() {
  check(nccl().ncclCommAbort(communicator_));
}

void Rank::stay() {
  for (;;) sleep_milliseconds(1000);
}

Mps::Mps() {
  const char* temporary = std::getenv("TMPDIR");
  std::string pattern = std::string(temporary != nullptr ? temporary : "/tmp") + "/weft-probe-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  daemon_.emplace_back(std::vector<std::string>{"nvidia-cuda-mps-control", "-f"}, environment(), true);
  struct stat place {};
  runs_ = wait_for([&] { return stat((folder_ + "/control").c_str(), &place) == 0; }, 1500);
  if (runs_) return;
  const Child::Result result = daemon_.front().wait(0);
  daemon_.clear();
  why_not_ = "nvidia-cuda-mps-control cannot be started: " +
             (result.code == 127 ? "it is not installed" : result.output.substr(0, 200));
}

Mps::~Mps() {
  if (!daemon_.empty()) {
    Child({"sh", "-c", "echo quit | nvidia-cuda-mps-control"}, environment(), true).wait(2);
    daemon_.front().wait(2);
  }
  nftw(
      folder_.c_str(), [](const char* path, const struct stat*, int, FTW*) { return std::remove(path); }, 8,
      FTW_DEPTH | FTW_PHYS);
}

Environment Mps::environment() const {
  return {{"CUDA_MPS_PIPE_DIRECTORY", folder_}, {"CUDA_MPS_LOG_DIRECTORY", folder_}};
}

}  // namespace probe
