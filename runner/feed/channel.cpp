// See channel.h.
#include "runner/feed/channel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

namespace weft {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

// The lock of a process: it goes with that, however it ends, and a child does not have it.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::runtime_error no_room(const std::string& folder, std::uint64_t wanted, std::uint64_t room) {
  const auto kibibytes = [](std::uint64_t bytes) { return std::to_string((bytes + 1023) >> 10) + " KiB"; };
  return std::runtime_error("no room for " + kibibytes(wanted) + " of shared memory in " + folder + ": " +
                            kibibytes(room) + ", a quarter of what is free, may be taken (in a container: --shm-size)");
}

void make_room(int file, const std::string& path, std::uint64_t bytes) {
  const int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0) return;
  fail("no room for " + std::to_string((bytes >> 10) + 1) + " KiB of shared memory in " + path, error);
}

void* map(int file, std::uint64_t offset, std::uint64_t bytes) {
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  if (pages == MAP_FAILED) fail("the feeder's shared memory cannot be mapped", errno);
  return pages;
}

// A program may have closed its standard files, and would write into one that took such a number.
int above_the_standard_ones(int file) {
  if (file < 0 || file > STDERR_FILENO) return file;
  const int higher = ::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(file);
  return higher;
}

// Elsewhere a page that is touched may not be there, which would end the process, or wait for a disk.
bool is_in_memory(int file) {
  struct statfs status {};
  return ::fstatfs(file, &status) == 0 && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

std::uint64_t size_of(int file) {
  struct stat status {};
  return ::fstat(file, &status) != 0 ? 0 : static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

template <std::size_t size>
void ChannelText<size>::set(std::string_view text) {
  const std::size_t count = std::min(text.size(), size - 1);
  std::memcpy(bytes.data(), text.data(), count);
  bytes[count] = '\0';
}

template <std::size_t size>
std::string ChannelText<size>::get() const {
  return {bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0')};
}

template struct ChannelText<512>;
template struct ChannelText<1024>;
template struct ChannelText<4096>;

SlotLayout layout_of(const Declared& declared) {
  const std::vector inputs(declared.input.begin(), declared.input.begin() + declared.inputs),
      outputs(declared.output.begin(), declared.output.begin() + declared.outputs);
  return {declared.per_unit, inputs, outputs};
}

Channel::Channel(std::string path, int file) : path_(std::move(path)), file_(file), identity_(FileIdentity::of(file)) {}

Channel::Channel(Channel&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      identity_(other.identity_),
      pages_(std::exchange(other.pages_, nullptr)),
      slots_(std::exchange(other.slots_, nullptr)),
      slot_count_(std::exchange(other.slot_count_, 0)),
      slot_bytes_(other.slot_bytes_),
      mapped_bytes_(other.mapped_bytes_) {}

Channel::~Channel() {
  if (slots_ != nullptr) ::munmap(slots_, mapped_bytes_);
  if (pages_ != nullptr) ::munmap(pages_, slots_offset);
  if (file_ >= 0 && identity_.is_behind(file_)) ::close(file_);
}

void Channel::map_header() {
  pages_ = map(file_, 0, slots_offset);
}

void Channel::map_slots(std::uint32_t slots, std::uint64_t slot_bytes, std::uint64_t bytes) {
  slots_ = map(file_, slots_offset, bytes);
  mapped_bytes_ = bytes;
  slot_count_ = slots;
  slot_bytes_ = slot_bytes;
}

Channel Channel::create(const std::string& folder, std::string_view name) {
  const std::string path = folder + "/" + std::string(name), hidden = path + ".new";
  const int file =
      above_the_standard_ones(::open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file < 0) fail("nothing can be made in the feeder's folder " + folder + " (WEFT_FEEDER)", errno);
  Channel channel(path + std::string(channel_ending), file);
  try {
    if (!is_in_memory(file))
      throw std::runtime_error("the feeder's folder " + folder +
                               " (WEFT_FEEDER) is not in shared memory, as /dev/shm is");
    if (channel.room() < slots_offset) throw no_room(folder, slots_offset, channel.room());
    make_room(file, folder, slots_offset);
    channel.map_header();
    new (channel.pages_) ChannelHeader;
    struct flock lock = whole_file();
    if (::fcntl(file, F_SETLK, &lock) != 0) fail("no lock in the feeder's folder " + folder, errno);
    if (::rename(hidden.c_str(), channel.path_.c_str()) != 0) fail(channel.path_, errno);
  } catch (...) {
    ::unlink(hidden.c_str());
    throw;
  }
  return channel;
}

Channel Channel::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) fail(path, errno);
  Channel channel(path, file);
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      size_of(file) < slots_offset)
    throw std::runtime_error(path + " is no channel");
  channel.map_header();
  const ChannelHeader& header = channel.header();
  if (header.magic != ChannelHeader::right_magic || header.version != ChannelHeader::right_version ||
      header.bytes != sizeof(ChannelHeader))
    throw std::runtime_error(path + " is of another version of Weft");
  return channel;
}

std::uint64_t Channel::room() const {
  struct statfs status {};
  if (::fstatfs(file_, &status) != 0) return 0;
  // A file system without a limit has no blocks.
  if (status.f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(status.f_bavail) * static_cast<std::uint64_t>(status.f_bsize) / 4;
}

void Channel::make_slots(std::uint32_t slots, std::uint64_t slot_bytes) {
  const std::string folder = path_.substr(0, path_.rfind('/'));
  const std::uint64_t bytes = (slots + 1) * slot_bytes;
  if (bytes > room()) throw no_room(folder, bytes, room());
  make_room(file_, folder, slots_offset + bytes);
  map_slots(slots, slot_bytes, bytes);
  header().slot_bytes = slot_bytes;
  header().slots = slots;
}

void Channel::take_slots(std::uint32_t slots, std::uint64_t slot_bytes) {
  if (slots == 0 || slots > 1024 || slot_bytes == 0 || slots > (size_of(file_) - slots_offset) / slot_bytes)
    throw std::runtime_error(path_ + " has no room for its slots");
  map_slots(slots, slot_bytes, slots * slot_bytes);
}

bool Channel::is_held() const {
  if (header().closed.load(std::memory_order_acquire) != 0) return false;
  struct flock lock = whole_file();
  return ::fcntl(file_, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

void Channel::remove() const noexcept {
  ::unlink(path_.c_str());
}

void ring(std::atomic<std::uint32_t>& bell) noexcept {
  bell.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wait_for_ring(std::atomic<std::uint32_t>& bell, std::uint32_t heard, Duration limit) noexcept {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(limit);
  const timespec time{static_cast<std::time_t>(seconds.count()), static_cast<long>((limit - seconds).count())};
  ::syscall(SYS_futex, &bell, FUTEX_WAIT, heard, &time, nullptr, 0);
}

}  // namespace weft
