// The devices of the process, and the lock that makes the calls of each come one at a time.
//
// Threads of the main job inside the core's services. Whoever looks at a device has its entry's lock.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "runner/core/device.h"

namespace weft {

struct DeviceEntry {
  std::mutex mutex;
  std::unique_ptr<Device> device;               // nothing before its first and after its last communicator
  std::unique_ptr<Device> leftover;             // an earlier one that could not free its memory
  std::atomic<bool> waited_in_vain{false};      // for the driver; no later rescue waits for it
  std::atomic<bool> waited_for_another{false};  // thread in vain; the next rescue waits for it for a shorter time
  std::atomic<bool> said_in_vain{false};        // that an allocation could not be rescued

  // The lock, which another thread may hold in the driver, within `limit`; 0: where it is free now. It says itself
  // whether it is owned.
  std::unique_lock<std::mutex> lock_within(Duration limit);
  // With the lock. True: nothing is left of an earlier device.
  bool release_left_over(Duration limit);
  // With the lock, after the device's last communicator: it goes, unless it has memory that cannot be freed yet.
  void finish();
  // With the lock: the context is about to go, and everything with it.
  void abandon();
  // Without the lock, for which nobody is waited. True: nothing is reserved on the device any more.
  bool give_back();
};

class DeviceTable {
 public:
  DeviceEntry& entry(int ordinal);
  DeviceEntry* entry_of(CommunicatorId communicator);  // nullptr: not known
  void note(CommunicatorId communicator, int ordinal);
  void forget(CommunicatorId communicator);
  // Of each device. True: nothing is reserved any more.
  bool give_all_back();

 private:
  DeviceEntry* nth(std::size_t number);

  std::mutex mutex_;
  std::map<int, std::unique_ptr<DeviceEntry>> entries_;  // guarded by mutex_; an entry is never removed
  std::map<CommunicatorId, int> device_of_;              // guarded by mutex_
};

}  // namespace weft
