// The stacks of the calls that are to be looked at: on their way from the threads of the main job to the dispatcher.
//
// ask(), withdraw() and take() are called by the dispatcher thread of the device; look() by threads of the main job,
// inside hooks. A fixed number of places; group and state of each are one atomic word, by which it changes hands; no
// lock. Never destroyed once a hook may know it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "detector/event.h"
#include "runner/sites/stack_reader.h"

namespace weft {

struct CallSample {
  GroupId group = 0;
  bool was_read = false;  // false: the stack could not be looked at just then
  const char* range = "";
  const CallStack* stack = nullptr;
};

class CallSamples {
 public:
  static constexpr std::size_t most = 16;

  explicit CallSamples(const StackReader& reader) : reader_(reader) {}

  // Looks at the calls of these groups from here on, at most `most`. Only while none are asked for or to be taken.
  // Returns the first of them, 0: none.
  GroupId ask(std::span<const GroupId> groups) noexcept;
  void withdraw() noexcept;  // those that have not come
  bool is_empty() const noexcept;
  bool has_any() const noexcept;  // to be taken

  // The call that issued this group has returned to the hook. The next group that is asked for; 0: none.
  // `range`: of NVTX, "": none is known.
  GroupId look(GroupId group, const char* range) noexcept;

  // Calls function(sample) for each that may be taken: for which it returns true are free again.
  template <class Function>
  void take(Function function) {
    for (Place& place : places_) {
      const std::uint64_t word = place.word.load(std::memory_order_acquire);
      if (state_of(word) != State::looked) continue;
      if (function(CallSample{group_of(word), place.was_read, place.range.data(), &place.stack}))
        place.word.store(free_word, std::memory_order_release);
    }
  }

 private:
  enum class State : std::uint64_t { free, asked, looking, looked };
  static constexpr std::uint64_t free_word = 0;
  static constexpr std::uint64_t word_of(GroupId group, State state) noexcept {
    return group << 2 | static_cast<std::uint64_t>(state);
  }
  static constexpr GroupId group_of(std::uint64_t word) noexcept { return word >> 2; }
  static constexpr State state_of(std::uint64_t word) noexcept { return static_cast<State>(word & 3); }

  struct Place {
    std::atomic<std::uint64_t> word{free_word};
    bool was_read = false;
    std::array<char, 64> range;
    CallStack stack;  // not touched before it is used
  };

  Place* place_of(GroupId group) noexcept;
  GroupId next_behind(GroupId group) const noexcept;

  const StackReader& reader_;
  std::array<Place, most> places_;
};

}  // namespace weft
