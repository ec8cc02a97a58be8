// Mapped doorbell words of the peers, and pidfds that tell who has died.
#include "doorbell.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>

namespace simgpu::nccl {
namespace {

constexpr size_t page = 4096;

// A pidfd becomes readable when its process ends.
bool ended(int process_descriptor) {
  pollfd poller{process_descriptor, POLLIN, 0};
  return poll(&poller, 1, 0) == 1 && (poller.revents & (POLLIN | POLLNVAL)) != 0;
}

}  // namespace

bool process_ended(int process) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0) return errno == ESRCH;
  const bool result = ended(descriptor);
  close(descriptor);
  return result;
}

Doorbells::Doorbells(int ranks) : peers_(static_cast<size_t>(ranks)) {}

Doorbells::~Doorbells() {
  for (const Peer& peer : peers_) {
    if (peer.word != nullptr) munmap(peer.word, page);
    if (peer.process_descriptor >= 0) close(peer.process_descriptor);
  }
}

bool Doorbells::open(int rank, int process, int doorbell_descriptor) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  peer.process_descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", process, doorbell_descriptor);
  const int descriptor = ::open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return false;
  void* word = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (word == MAP_FAILED) return false;
  peer.word = static_cast<std::atomic<uint32_t>*>(word);
  return true;
}

void Doorbells::ring(int rank) const {
  std::atomic<uint32_t>* word = peers_[static_cast<size_t>(rank)].word;
  word->fetch_add(1);
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Doorbells::dead(int rank) const {
  const int descriptor = peers_[static_cast<size_t>(rank)].process_descriptor;
  return descriptor >= 0 && ended(descriptor);
}

}  // namespace simgpu::nccl
