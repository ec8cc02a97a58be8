// The call sites of a device's slots (WEFT_CALL_SITES): which calls are looked at, and the records that come of it.
//
// Used by the dispatcher thread of the device, and at the end by the thread that closes it. Stacks are read by threads
// of the main job inside hooks (call_samples.h) and named by a thread of their own, which nobody waits for but the
// end, for a bounded time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "detector/time.h"
#include "runner/sites/call_samples.h"
#include "runner/sites/site_wishes.h"
#include "shim/seam/core_interface.h"
#include "trace/record_sink.h"

namespace weft {

// All that the devices of the process share. Never destroyed: hooks may look.
class CallSiteParts {
 public:
  // Once, where a first device is set up: finds what reads stacks, on a thread of its own. The loader's lock may be
  // held by a thread that waits for the one that sets up.
  void begin(const std::string& unwinder);
  bool is_ready() const { return ready_.load(std::memory_order_acquire); }
  const StackReader& reader() const { return reader_; }
  const std::vector<std::string>& missing() const { return missing_; }  // once it is ready

  // The places of a device, from its first opening on. One thread at a time.
  CallSamples* make_samples(int device);  // nullptr: the device's number is too high
  // In a hook, see CoreServices.
  GroupId call_returned(int device, GroupId group, const char* range) noexcept;

 private:
  static constexpr std::size_t most_devices = 64;

  StackReader reader_;
  std::vector<std::string> missing_;
  std::atomic<bool> begun_{false}, ready_{false};
  std::array<std::atomic<CallSamples*>, most_devices> samples_{};
  std::vector<std::unique_ptr<CallSamples>> all_samples_;
};

class CallSites final : public RecordSink {
 public:
  CallSites(CallSiteParts& parts, CallSamples& samples, const ShimServices& shim, int device);
  ~CallSites() override;

  // Hears of bubbles.
  void push(const Record& record) noexcept override;
  void group_issued(GroupId group, const SlotKey& slot) { wishes_.issued(group, slot); }
  // At each look. `may_ask`: no bubble is open, and no capture.
  void look(TimePoint now, bool may_ask);
  // Nothing more will come. Waits at most `limit`.
  void finish(TimePoint now, Duration limit);
  // Since the last call.
  std::vector<Record> take_records() { return std::exchange(records_, {}); }

 private:
  struct Batch;
  struct SeenBubble {
    SlotKey slot;
    GroupId group = 0;
  };

  void take_bubbles();
  void begin_naming(TimePoint now);
  void take_named();
  void ask();
  void stop_asking();
  void note(TimePoint now, const std::string& text, Audience audience);

  CallSiteParts& parts_;
  CallSamples& samples_;
  const ShimServices& shim_;
  const int device_;
  SiteWishes wishes_;
  std::array<SeenBubble, 64> bubbles_;  // since the last look; of more the rest comes again
  std::size_t bubbles_seen_ = 0;
  std::shared_ptr<Batch> naming_;  // with the thread, while it names
  std::vector<Record> records_;
  bool said_missing_ = false;
  bool asks_ = false;
};

}  // namespace weft
