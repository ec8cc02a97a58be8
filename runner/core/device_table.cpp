// See the header.
#include "runner/core/device_table.h"

#include <iterator>

#include "runner/clock.h"

namespace weft {

std::unique_lock<std::mutex> DeviceEntry::lock_within(Duration limit) {
  std::unique_lock lock(mutex, std::defer_lock);
  wait_at_most(limit, [&] { return lock.try_lock(); });
  return lock;
}

bool DeviceEntry::release_left_over(Duration limit) {
  if (leftover == nullptr) return true;
  leftover->release_left_over(limit);
  if (leftover->holds_fill()) return false;
  leftover = nullptr;
  return true;
}

void DeviceEntry::finish() {
  if (device->holds_fill())
    leftover = std::move(device);
  else
    device.reset();
}

void DeviceEntry::abandon() {
  if (device) device->context_closing();
  if (leftover) leftover->abandon_fill();
  device.reset();
  leftover.reset();
}

bool DeviceEntry::give_back() {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  if (device) device->give_memory_back("Weft has failed", Duration{0});
  return release_left_over(Duration{0}) && (!device || !device->holds_memory());
}

DeviceEntry& DeviceTable::entry(int ordinal) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<DeviceEntry>& found = entries_[ordinal];
  if (!found) found = std::make_unique<DeviceEntry>();
  return *found;
}

DeviceEntry* DeviceTable::entry_of(CommunicatorId communicator) {
  const std::lock_guard lock(mutex_);
  const auto found = device_of_.find(communicator);
  return found == device_of_.end() ? nullptr : entries_[found->second].get();
}

void DeviceTable::note(CommunicatorId communicator, int ordinal) {
  const std::lock_guard lock(mutex_);
  device_of_[communicator] = ordinal;
}

void DeviceTable::forget(CommunicatorId communicator) {
  const std::lock_guard lock(mutex_);
  device_of_.erase(communicator);
}

// The lock is not held while an entry is worked with.
DeviceEntry* DeviceTable::nth(std::size_t number) {
  const std::lock_guard lock(mutex_);
  if (number >= entries_.size()) return nullptr;
  return std::next(entries_.begin(), static_cast<std::ptrdiff_t>(number))->second.get();
}

bool DeviceTable::give_all_back() {
  bool all = true;
  for (std::size_t number = 0; DeviceEntry* const entry = nth(number); ++number) all = entry->give_back() && all;
  return all;
}

}  // namespace weft
