// See the header.
#include "runner/core/rescue.h"

#include "runner/log.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

// For a thread that is in the device, after a wait in vain for one: enough for another rescue.
constexpr Duration later_limit = std::chrono::milliseconds(100);

// For as long as it lives another rescue waits.
class Waiting {
 public:
  explicit Waiting(std::atomic<int>& count) : count_(count) { count_.fetch_add(1); }
  ~Waiting() { count_.fetch_sub(1); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<int>& count_;
};

// A failing allocation goes back to the main job as it is. Said once on a device.
void not_rescued(const CoreContext& context, DeviceEntry& entry, const char* why) {
  if (entry.said_in_vain.exchange(true)) return;
  log(LogLevel::warn, "an allocation of the training failed while Weft held " + mebibytes(context.options.memory) +
                          " of device memory, which could not be given back in time: " + why +
                          "; set a smaller WEFT_MEMORY");
}

// The thread that sets the device up, if one does, finds out by itself.
void trial_gave_way(DeviceEntry& entry) {
  const std::unique_lock lock(entry.mutex, std::try_to_lock);
  if (lock.owns_lock() && entry.device) entry.device->trial_gave_way();
}

// With the entry's lock. True: memory has come back.
bool give_back(CoreContext& context, DeviceEntry& entry, Duration patience) {
  const char* const reason = "the training needed the memory of the reservation (WEFT_MEMORY)";
  bool rescued = false, held = false, is_being_answered = false;
  for (Device* const holder : {entry.device.get(), entry.leftover.get()}) {
    if (holder == nullptr) continue;
    held = held || holder->holds_memory();
    rescued = holder->give_memory_back(reason, patience) || rescued;
    is_being_answered = is_being_answered || holder->is_being_answered();
  }
  if (held && !rescued) {
    entry.waited_in_vain = entry.waited_in_vain || !is_being_answered;
    not_rescued(context, entry,
                is_being_answered ? "a fill job has not said its progress yet (save() of weft/fill.h)"
                                  : "the driver waits for work that has not ended");
  }
  return rescued;
}

}  // namespace

bool rescue_memory(CoreContext& context, DeviceEntry& entry, int ordinal) {
  const std::atomic<std::uint32_t>& times_given_back = *context.shim.times_given_back;
  const std::uint32_t before = times_given_back;
  bool gave_way = false;
  std::unique_lock<std::mutex> lock;
  {
    // A thread that makes jobs ready begins no further one meanwhile.
    const Waiting waiting(context.rescues_of(ordinal));
    // The allocation is tried again once, and a trial beside a job that is ready may have held too little for it.
    gave_way = context.trials.give_way(ordinal, rescue_limit);
    if (gave_way) trial_gave_way(entry);
    lock = entry.lock_within(entry.waited_for_another ? later_limit : rescue_limit);
  }
  if (!lock.owns_lock()) {
    if (gave_way || times_given_back != before) return true;
    entry.waited_for_another = true;
    not_rescued(context, entry, "another thread prepares or closes the device");
    return false;
  }
  entry.waited_for_another = false;
  // The other thread may have had it all.
  const bool rescued = give_back(context, entry, entry.waited_in_vain ? Duration{0} : rescue_limit);
  return rescued || gave_way || times_given_back != before;
}

// The thread is not made to wait for another one that is in the device.
std::uint64_t allow_memory(CoreContext& context, DeviceEntry& entry) {
  constexpr std::uint64_t soon = std::uint64_t{1} << 20, later = std::uint64_t{1} << 30;
  const std::unique_lock lock(entry.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return soon;
  if (!entry.device || !entry.device->holds_memory()) return later;
  const std::uint64_t left = entry.device->keep_head_room();
  if (!entry.device->holds_memory()) context.memory_came_back();  // at last, after a call that gave up waiting for it
  return left;
}

}  // namespace weft
