// See channel.h.
#include "runner/feed/channel.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

namespace weft {

SlotLayout layout_of(const Declared& declared) {
  const std::vector inputs(declared.input.begin(), declared.input.begin() + declared.inputs),
      outputs(declared.output.begin(), declared.output.begin() + declared.outputs);
  return {declared.per_unit, inputs, outputs};
}

Channel::Channel(Channel&& other) noexcept
    : file_(std::move(other.file_)),
      slots_(std::exchange(other.slots_, nullptr)),
      slot_count_(std::exchange(other.slot_count_, 0)),
      slot_bytes_(other.slot_bytes_),
      mapped_bytes_(other.mapped_bytes_) {}

Channel::~Channel() {
  if (slots_ != nullptr) ::munmap(slots_, mapped_bytes_);
}

void Channel::map_slots(std::uint32_t slots, std::uint64_t slot_bytes, std::uint64_t bytes) {
  slots_ = file_.map(slots_offset, bytes);
  mapped_bytes_ = bytes;
  slot_count_ = slots;
  slot_bytes_ = slot_bytes;
}

Channel Channel::create(const std::string& folder) {
  return Channel(
      SharedFile::create(folder, channel_ending, slots_offset, [](void* pages) { new (pages) ChannelHeader; }));
}

Channel Channel::open(const std::string& path) {
  Channel channel(SharedFile::open(path, slots_offset));
  const ChannelHeader& header = channel.header();
  if (header.magic != ChannelHeader::right_magic || header.version != ChannelHeader::right_version ||
      header.bytes != sizeof(ChannelHeader))
    throw std::runtime_error(path + " is of another version of Weft");
  return channel;
}

void Channel::make_slots(std::uint32_t slots, std::uint64_t slot_bytes) {
  const std::uint64_t bytes = (slots + 1) * slot_bytes;
  file_.grow(slots_offset + bytes);
  map_slots(slots, slot_bytes, bytes);
  header().slot_bytes = slot_bytes;
  header().slots = slots;
}

void Channel::take_slots(std::uint32_t slots, std::uint64_t slot_bytes) {
  if (slots == 0 || slots > 1024 || slot_bytes == 0 || slots > (file_.bytes() - slots_offset) / slot_bytes)
    throw std::runtime_error(path() + " has no room for its slots");
  map_slots(slots, slot_bytes, slots * slot_bytes);
}

bool Channel::is_held() const {
  return header().closed.load(std::memory_order_acquire) == 0 && file_.is_locked();
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
