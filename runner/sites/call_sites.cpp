// See call_sites.h.
#include "runner/sites/call_sites.h"

#include <pthread.h>

#include "runner/clock.h"
#include "runner/own_thread.h"
#include "runner/sites/frame_names.h"

namespace weft {

struct CallSites::Batch {
  struct Site {
    SlotKey slot;
    GroupId group = 0;
    std::string range;
    CallStack stack;
  };
  std::vector<Site> sites;
  std::vector<CallFrameRecord> frames;  // the thread's, until it is done
  std::atomic<bool> is_done{false};

  void name() noexcept;
};

// A batch that finds no memory has no frames.
void CallSites::Batch::name() noexcept {
  pthread_setname_np(pthread_self(), "weft-sites");
  try {
    std::vector<std::uintptr_t> calls;
    for (const Site& site : sites) add_calls(site.stack, calls);
    const CodeNames names = names_of_code(calls);
    for (const Site& site : sites) {
      for (CallFrameRecord& frame : named_frames(site.stack, site.range, names)) {
        frame.rhythm = site.slot.rhythm;
        frame.ordinal = site.slot.ordinal;
        frame.group = site.group;
        frames.push_back(frame);
      }
    }
  } catch (...) {
    frames.clear();
  }
  is_done.store(true, std::memory_order_release);
}

void CallSiteParts::begin(const std::string& unwinder) {
  if (begun_.exchange(true)) return;
  const bool started = start_own_thread([this, unwinder]() noexcept {
    pthread_setname_np(pthread_self(), "weft-sites");
    try {
      missing_ = reader_.load(unwinder);
      ready_.store(true, std::memory_order_release);
    } catch (...) {
      // No memory: there are no call sites.
    }
  });
  if (started) return;
  missing_ = {"no thread can be started: there are no call sites"};
  ready_.store(true, std::memory_order_release);
}

CallSamples* CallSiteParts::make_samples(int device) {
  if (device < 0 || static_cast<std::size_t>(device) >= most_devices) return nullptr;
  std::atomic<CallSamples*>& place = samples_[static_cast<std::size_t>(device)];
  if (place.load(std::memory_order_acquire) == nullptr)
    place.store(all_samples_.emplace_back(std::make_unique<CallSamples>(reader_)).get(), std::memory_order_release);
  return place.load(std::memory_order_acquire);
}

GroupId CallSiteParts::call_returned(int device, GroupId group, const char* range) noexcept {
  CallSamples* const samples =
      samples_[static_cast<std::size_t>(device) % most_devices].load(std::memory_order_acquire);
  return samples == nullptr ? 0 : samples->look(group, range);
}

CallSites::CallSites(CallSiteParts& parts, CallSamples& samples, const ShimServices& shim, int device)
    : parts_(parts), samples_(samples), shim_(shim), device_(device) {
  samples_.withdraw();
  samples_.take([](const CallSample&) { return true; });  // of an earlier opening
}

CallSites::~CallSites() {
  stop_asking();
}

void CallSites::push(const Record& record) noexcept {
  if (record.kind != RecordKind::bubble || bubbles_seen_ == bubbles_.size()) return;
  const Bubble& bubble = record.bubble;
  if (bubble.iteration == 0 || bubble.group == 0) return;
  bubbles_[bubbles_seen_++] = {{bubble.rhythm, bubble.slot.ordinal}, bubble.group};
}

void CallSites::take_bubbles() {
  for (std::size_t index = 0; index < bubbles_seen_; ++index)
    wishes_.bubble(bubbles_[index].slot, bubbles_[index].group);
  bubbles_seen_ = 0;
}

void CallSites::look(TimePoint now, bool may_ask) {
  take_bubbles();
  if (!parts_.is_ready()) return;
  if (!std::exchange(said_missing_, true))
    for (const std::string& text : parts_.missing()) note(now, text, Audience::one_rank);
  if (!parts_.reader().is_loaded()) return;
  take_named();
  if (!naming_) begin_naming(now);
  if (asks_ && (!may_ask || wishes_.all_have_come())) stop_asking();
  if (!asks_ && may_ask && !naming_ && !wishes_.is_full() && samples_.is_empty()) ask();
}

void CallSites::ask() {
  std::array<GroupId, CallSamples::most> groups;
  const std::size_t wanted = wishes_.ask(groups);
  if (wanted == 0) return;
  asks_ = true;
  shim_.want_calls(device_, samples_.ask({groups.data(), wanted}));
}

void CallSites::stop_asking() {
  if (!std::exchange(asks_, false)) return;
  shim_.want_calls(device_, 0);
  samples_.withdraw();
  wishes_.withdraw();
}

// The event of a group may come a look later than its stack.
void CallSites::begin_naming(TimePoint now) {
  if (!samples_.has_any()) return;
  auto batch = std::make_shared<Batch>();
  samples_.take([&](const CallSample& sample) {
    if (sample.group > wishes_.latest()) return false;
    if (!sample.was_read) return true;
    if (const auto slot = wishes_.looked_at(sample.group))
      batch->sites.push_back({*slot, sample.group, sample.range, *sample.stack});
    return true;
  });
  if (batch->sites.empty()) return;
  if (start_own_thread([batch]() noexcept { batch->name(); }))
    naming_ = std::move(batch);
  else
    note(now, "some call sites have no names: no thread could be started", Audience::trace);
}

void CallSites::take_named() {
  if (!naming_ || !naming_->is_done.load(std::memory_order_acquire)) return;
  const TimePoint now = weft::now();
  for (const CallFrameRecord& frame : naming_->frames) records_.emplace_back(device_, now, frame);
  naming_.reset();
}

void CallSites::finish(TimePoint now, Duration limit) {
  take_bubbles();
  stop_asking();
  const auto named = [this] { return !naming_ || naming_->is_done.load(std::memory_order_acquire); };
  if (wait_at_most(limit / 2, named)) take_named();
  if (!naming_) begin_naming(now);
  if (wait_at_most(limit / 2, named)) take_named();
  if (!parts_.is_ready()) return;
  const std::size_t without = wishes_.slots() - wishes_.sites();
  if (without == 0 || !parts_.reader().is_loaded()) return;
  note(now,
       "call sites: " + std::to_string(without) + " of " + std::to_string(wishes_.slots()) +
           " slots have none, because their calls came in bubbles, or too late, or in no order that could be foreseen, "
           "or could not be read",
       Audience::trace);
}

void CallSites::note(TimePoint now, const std::string& text, Audience audience) {
  AnomalyRecord anomaly;
  anomaly.text = text;
  anomaly.audience = audience;
  records_.emplace_back(device_, now, anomaly);
}

}  // namespace weft
