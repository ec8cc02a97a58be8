// See annotations.h.
#include "shim/main_job/annotations.h"

#include "shim/main_job/devices.h"
#include "shim/notes.h"
#include "shim/process.h"

namespace weft {
namespace {

// Stage and chunk, each plus 1, in one word; 0: not said. The last one: said of all devices.
constinit std::atomic<std::uint64_t> stages[most_devices + 1]{};

constinit std::atomic<std::uint64_t> held_back{0}, refused{0};

std::atomic<std::uint64_t>& stage_of(int device) noexcept {
  return stages[device >= 0 ? device : most_devices];
}

}  // namespace

// As long as nothing was looked up the driver cannot be asked.
int annotated_device(std::int32_t device) noexcept {
  if (device >= 0) return device;
  return level() == Level::pass ? no_device : current_device();
}

bool can_be_annotated(std::int32_t device) noexcept {
  return device >= -1 && device < most_devices;
}

Saying saying_of(std::int64_t number, std::int64_t part) noexcept {
  const bool is_chunk = part >= 0 && part < INT32_MAX;
  return {number, is_chunk ? static_cast<std::int32_t>(part) : -1, 0, reinterpret_cast<std::uint64_t>(&thread_state)};
}

void say(EventKind kind, int device, const Saying& saying) noexcept {
  if (level() != Level::observe) return;
  if (event_ring.three_quarters_full())
    held_back.fetch_add(1, std::memory_order_relaxed);
  else
    note(kind, device, [&](Event& event) { event.saying = saying; });
}

void refuse_annotation() noexcept {
  if (level() == Level::observe) refused.fetch_add(1, std::memory_order_relaxed);
}

UnheardAnnotations unheard_annotations() noexcept {
  return {held_back.load(std::memory_order_relaxed), refused.load(std::memory_order_relaxed)};
}

void keep_stage(int device, const Saying& stage) noexcept {
  const bool is_stage = stage.number >= 0 && stage.number < INT32_MAX;
  const auto high = is_stage ? static_cast<std::uint64_t>(stage.number) + 1 : 0;
  const auto low = static_cast<std::uint64_t>(stage.chunk + 1);
  // A word for all devices stands in place of earlier ones for each.
  if (device < 0)
    for (int each = 0; each < most_devices; ++each) stage_of(each).store(0, std::memory_order_relaxed);
  stage_of(device).store(is_stage ? high << 32 | low : 0, std::memory_order_relaxed);
}

void say_stage_again(int device) noexcept {
  std::uint64_t said = stage_of(device).load(std::memory_order_relaxed);
  if (said == 0) said = stage_of(no_device).load(std::memory_order_relaxed);
  if (said == 0) return;
  const auto chunk = static_cast<std::int64_t>(said & 0xffffffff) - 1;
  say(EventKind::said_stage, device, saying_of(static_cast<std::int64_t>(said >> 32) - 1, chunk));
}

}  // namespace weft
