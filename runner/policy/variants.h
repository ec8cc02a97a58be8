// Which of the variants of a fill job is to be made ready: the same job with arguments of several sizes, best first.
//
// By memory: the first one that may fit the memory which the job can have now. By bubbles: one that no bubble has room
// for over many iterations (bubble_room.h) gives way to the next smaller one. One that could not be made ready is out
// for the run. Asked where jobs are begun and ended, on threads of the main job, and by the model of a rank in virtual
// time. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "detector/time.h"
#include "runner/policy/bubble_room.h"

namespace weft {

inline constexpr std::size_t most_variants = 8;  // of a job

// Whether better ones may come back now: not while another job waits for memory, or for its trial.
enum class Growth : std::uint8_t { allowed, not_now };

class Variants {
 public:
  // A variant has run for so long before a better one is tried: a change costs the fill work of its preparation.
  static constexpr Duration settled_after = std::chrono::seconds(30);
  // In so many iterations in a row no bubble had room for it; and later, one had room for the slice that was refused
  // and a quarter more.
  static constexpr std::uint32_t many_iterations = 64;
  // Of a job in a run: each holds the training up. A better one is tried only where one more change would be left, for
  // bubbles may refuse that one, too.
  static constexpr std::uint32_t most_changes = 4;

  // `count`: 1 to most_variants.
  explicit Variants(std::size_t count = 1) : count_(count) {}

  // The first that may fit in so many bytes and that bubbles have not refused; where they have refused all that may
  // fit, the last of these. Nothing: none may fit.
  std::optional<std::size_t> best(std::uint64_t memory) const { return first_from(0, memory); }
  // The one to change to, at a quiet time. Nothing: the present one stays.
  std::optional<std::size_t> change(std::size_t present, std::uint64_t memory, TimePoint now,
                                    Growth growth = Growth::allowed) const;
  // There is a smaller one that may fit in so many bytes.
  bool has_smaller(std::size_t present, std::uint64_t memory) const;
  bool may_change() const { return changes_ < most_changes; }

  void began(TimePoint now) { began_ = now; }
  void changed() { ++changes_; }
  void stays() { changes_ = most_changes; }  // there will be no further change
  // It did not fit in so many bytes; better ones do not either.
  void lacked_memory(std::size_t variant, std::uint64_t memory);
  // It could not be made ready, and not for a lack of memory.
  void cannot_run(std::size_t variant) { states_[variant].cannot_run = true; }
  // No bubble had room for a slice of this length.
  void had_no_room(std::size_t variant, Duration slice);

  bool is_refused(std::size_t variant) const { return states_[variant].refused_slice > Duration{}; }

  // The nearest better one that bubbles refuse, and the length for which they are to have room before it is tried
  // again.
  struct Refused {
    std::size_t variant = 0;
    Duration length{};
  };
  std::optional<Refused> refused_before(std::size_t present) const;
  // Bubbles have room for it.
  void have_room(std::size_t variant) { states_[variant].refused_slice = {}; }

  // The questions about bubbles for as long as this one runs, with so much memory for the job.
  RoomWish wish(std::size_t present, std::uint64_t memory) const;
  // The answer to them; `refused`: with no_room the slice that had none.
  void heard(std::size_t present, RoomFinding finding, Duration refused);

 private:
  struct State {
    std::uint64_t too_small = 0;  // the largest memory in which it did not fit
    Duration refused_slice{};     // for which no bubble had room; 0: they may have
    bool cannot_run = false;
  };
  std::optional<std::size_t> first_from(std::size_t from, std::uint64_t memory) const;
  bool may_fit(std::size_t variant, std::uint64_t memory) const {
    return !states_[variant].cannot_run && memory > states_[variant].too_small;
  }

  std::size_t count_;
  std::array<State, most_variants> states_{};
  TimePoint began_{};
  std::uint32_t changes_ = 0;
};

// Why a variant gives way, in a trace: to a smaller one, and to a better one.
std::string why_no_room(const std::string& variant, Duration slice);
std::string why_better(const std::string& better);

}  // namespace weft
