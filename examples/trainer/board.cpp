// See board.h.
#include "board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "check.h"

namespace trainer {
namespace {

constexpr int most_ranks = 256;
constexpr std::size_t bytes = 4096;  // a page: what a GPU can be given

std::string name_of_memory() {
  return "/trainer-board-" + std::to_string(std::hash<std::string>{}(rendezvous_file()));
}

}  // namespace

// All zero at first. The GPU writes counts, too: eight plain bytes each.
struct Board::Shared {
  std::atomic<std::uint64_t> counts[most_ranks];
  std::atomic<std::int32_t> arrived;
  std::atomic<double> forward, backward;
};

Board::Board(const Place& place) : place_(place) {
  static_assert(sizeof(Shared) <= bytes);
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<double>::is_always_lock_free);
  if (place.ranks > most_ranks) throw std::runtime_error("too many ranks for --peers sleep");
  const std::string name = name_of_memory();
  if (place.rank == 0) shm_unlink(name.c_str());
  const int file = shm_open(name.c_str(), O_RDWR | (place.rank == 0 ? O_CREAT | O_EXCL : 0), 0600);
  if (file < 0)
    throw std::runtime_error("no shared memory with the other ranks (" + std::string(std::strerror(errno)) +
                             "): --peers sleep wants all of them on this machine");
  if (place.rank == 0 && ftruncate(file, bytes) != 0) {
    close(file);
    throw std::runtime_error("no shared memory: " + std::string(std::strerror(errno)));
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory: " + std::string(std::strerror(errno)));
  shared_ = static_cast<Shared*>(memory);
}

Board::~Board() {
  if (registered_) cudaHostUnregister(shared_);
  munmap(shared_, bytes);
}

void Board::meet() {
  using namespace std::chrono_literals;
  shared_->arrived.fetch_add(1);
  const auto give_up = std::chrono::steady_clock::now() + 120s;
  while (shared_->arrived.load() < place_.ranks) {
    if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error("not all ranks have come in two minutes");
    std::this_thread::sleep_for(1ms);
  }
  if (place_.rank == 0) shm_unlink(name_of_memory().c_str());
}

std::uint64_t Board::count(int rank) const {
  return shared_->counts[rank].load(std::memory_order_acquire);
}

void Board::set_count(std::uint64_t count) {
  shared_->counts[place_.rank].store(count, std::memory_order_release);
}

unsigned long long* Board::device_count() {
  if (!registered_) CHECK(cudaHostRegister(shared_, bytes, cudaHostRegisterMapped));
  registered_ = true;
  void* device = nullptr;
  CHECK(cudaHostGetDevicePointer(&device, shared_, 0));
  return static_cast<unsigned long long*>(device) + place_.rank;
}

Board::Times Board::times() const {
  const double backward = shared_->backward.load(std::memory_order_acquire);
  return {shared_->forward.load(std::memory_order_relaxed), backward};
}

void Board::set_times(const Times& times) {
  shared_->forward.store(times.forward, std::memory_order_relaxed);
  shared_->backward.store(times.backward, std::memory_order_release);
}

}  // namespace trainer
