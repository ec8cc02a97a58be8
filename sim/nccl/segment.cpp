// Creation, layout and host-side use of the shared memory of a communicator.
// Host threads only. Nothing here is called from a spin kernel, except the address arithmetic of the accessors.
#include "segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>

namespace simgpu::nccl {
namespace {

constexpr uint64_t address_magic = 0x73696d6e63636c31;  // "simnccl1"
constexpr size_t page = 4096;
constexpr long recheck_nanoseconds = 20'000'000;

size_t pages(size_t bytes) {
  return (bytes + page - 1) / page * page;
}

struct Layout {
  size_t records;
  size_t links;
  size_t consumed;
  size_t rings;
  size_t end;
};

Layout layout_of(int ranks, uint64_t fifo_bytes) {
  const size_t n = static_cast<size_t>(ranks);
  Layout layout{};
  layout.records = page;
  layout.links = layout.records + pages(n * sizeof(RankRecord));
  layout.consumed = layout.links + pages(link_kinds * n * n * sizeof(Link));
  layout.rings = layout.consumed + pages(n * n * sizeof(std::atomic<uint64_t>));
  layout.end = layout.rings + (link_kinds * n * n + n) * fifo_bytes;
  return layout;
}

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);
static_assert(sizeof(SegmentHeader) <= page);

// The descriptor is this segment's, not another file that has its number by now.
bool same_segment(int descriptor, const Address& address) {
  uint64_t nonce = 0;
  static_assert(offsetof(SegmentHeader, nonce) == 0);
  return pread(descriptor, &nonce, sizeof nonce, 0) == static_cast<ssize_t>(sizeof nonce) && nonce == address.nonce;
}

}  // namespace

bool Segment::create(uint64_t fifo_bytes, Address* address) {
  const int descriptor = memfd_create("simgpu-nccl", MFD_CLOEXEC);
  if (descriptor < 0) return false;
  uint64_t words[2] = {0, fifo_bytes};
  static_assert(offsetof(SegmentHeader, fifo_bytes) == sizeof(uint64_t));
  if (ftruncate(descriptor, static_cast<off_t>(page)) != 0 || getrandom(&words[0], sizeof words[0], 0) < 0 ||
      pwrite(descriptor, words, sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
    close(descriptor);
    return false;
  }
  *address = Address{address_magic, getpid(), descriptor, words[0]};
  return true;
}

void Segment::release(const Address& address) {
  // Several communicators of a process may come here with one address: the second must not close the next file that
  // gets the number.
  static constinit std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (address.process == getpid() && same_segment(address.descriptor, address)) close(address.descriptor);
}

bool Segment::valid(const Address& address) {
  return address.magic == address_magic && address.process > 0 && address.descriptor >= 0;
}

std::unique_ptr<Segment> Segment::open(const Address& address, int ranks, const char** error) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", address.process, address.descriptor);
  const int descriptor = ::open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0 || !same_segment(descriptor, address)) {
    if (descriptor >= 0) close(descriptor);
    *error = "the process that made the unique id is gone";
    return nullptr;
  }
  uint64_t fifo_bytes = 0;
  const bool read_ok = pread(descriptor, &fifo_bytes, sizeof fifo_bytes, offsetof(SegmentHeader, fifo_bytes)) ==
                       static_cast<ssize_t>(sizeof fifo_bytes);
  const Layout layout = layout_of(ranks, fifo_bytes);
  // Ranks that disagree about the number of ranks find out below; the file only ever grows.
  struct stat status {};
  void* base = MAP_FAILED;
  if (read_ok && fstat(descriptor, &status) == 0 &&
      (status.st_size >= static_cast<off_t>(layout.end) ||
       ftruncate(descriptor, static_cast<off_t>(layout.end)) == 0)) {
    base = mmap(nullptr, layout.end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  }
  close(descriptor);
  if (base == MAP_FAILED) {
    *error = "the shared memory of the communicator cannot be mapped";
    return nullptr;
  }
  auto* header = static_cast<SegmentHeader*>(base);
  uint32_t expected = 0;
  if (!header->ranks.compare_exchange_strong(expected, static_cast<uint32_t>(ranks)) &&
      expected != static_cast<uint32_t>(ranks)) {
    munmap(base, layout.end);
    *error = "the ranks of a communicator disagree about how many they are";
    return nullptr;
  }
  return std::unique_ptr<Segment>(new Segment(static_cast<char*>(base), layout.end, ranks, fifo_bytes));
}

Segment::Segment(char* base, size_t bytes, int ranks, uint64_t fifo_bytes)
    : base_(base), bytes_(bytes), ranks_(ranks), fifo_bytes_(fifo_bytes) {
  const Layout layout = layout_of(ranks, fifo_bytes);
  ranks_base_ = reinterpret_cast<RankRecord*>(base + layout.records);
  links_ = reinterpret_cast<Link*>(base + layout.links);
  consumed_ = reinterpret_cast<std::atomic<uint64_t>*>(base + layout.consumed);
  rings_ = base + layout.rings;
}

Segment::~Segment() {
  munmap(base_, bytes_);
}

char* Segment::link_ring(int source, int destination, LinkKind kind) const {
  return rings_ + static_cast<size_t>(number(source, destination, kind)) * fifo_bytes_;
}

char* Segment::collective_ring(int source) const {
  return rings_ + static_cast<size_t>(link_kinds * ranks_ * ranks_ + source) * fifo_bytes_;
}

void Segment::notify() const {
  auto* header = reinterpret_cast<SegmentHeader*>(base_);
  header->changes.fetch_add(1);
  syscall(SYS_futex, &header->changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

ncclResult_t Segment::wait(const std::function<bool()>& ready, const std::function<ncclResult_t()>& give_up) const {
  auto* header = reinterpret_cast<SegmentHeader*>(base_);
  while (true) {
    const uint32_t seen = header->changes.load();
    if (ready()) return ncclSuccess;
    if (const ncclResult_t result = give_up(); result != ncclSuccess) return ready() ? ncclSuccess : result;
    const timespec timeout{0, recheck_nanoseconds};
    syscall(SYS_futex, &header->changes, FUTEX_WAIT, seen, &timeout, nullptr, 0);
  }
}

ncclResult_t Segment::exchange(int self, const void* mine, size_t bytes, char* all,
                               const std::function<ncclResult_t()>& give_up) {
  // Two buffers suffice: nobody is two exchanges ahead of a rank that still reads.
  const uint64_t generation = ++exchanges_;
  RankRecord& record = rank(self);
  std::memcpy(record.exchange[generation % 2], mine, bytes);
  record.exchanged.store(generation);
  notify();
  const auto everybody = [&] {
    for (int r = 0; r < ranks_; ++r) {
      if (rank(r).exchanged.load() < generation) return false;
    }
    return true;
  };
  if (const ncclResult_t result = wait(everybody, give_up); result != ncclSuccess) return result;
  for (int r = 0; r < ranks_; ++r) {
    std::memcpy(all + static_cast<size_t>(r) * exchange_bytes, rank(r).exchange[generation % 2], bytes);
  }
  return ncclSuccess;
}

}  // namespace simgpu::nccl
