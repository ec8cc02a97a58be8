// The verdict of a fill job's trial, as the ranks of a node share it: what it is about, how it is written down, and how
// long a training process may wait for it.
//
// Pure: no clock, thread, file or CUDA. Used by the thread of the trial and by threads of the main job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "detector/time.h"

namespace weft {

struct TrialVerdict {
  std::string fault;       // one line; "": the job is sound
  Duration preparation{};  // how long it took to make the job ready
  bool is_local = false;   // it says nothing about the job: other ranks, and this one later, try anew
  std::string found{};     // what the machine has answered, see letters_of(); "": it was not asked, or gave no answer
  bool lacks_memory = false;  // the fault is that it asked for more device memory than the cap
  std::uint64_t movable = 0;  // bytes of its device memory that it marked, see Reservation::movable_asked()
};

// All that a verdict is about. Ranks whose subjects are the same share one trial.
struct TrialSubject {
  std::string job;    // of the launcher
  std::string node;   // and its start: a folder may be shared by several nodes
  std::string build;  // of Weft
  std::string path, arguments;
  std::string files;  // that it reads and writes
  std::uint64_t file_device = 0, file_number = 0, file_bytes = 0, file_changed = 0;
  std::string gpu;  // model and driver
  std::uint64_t memory = 0, max_blocks = 0, reserved = 0, confine = 0, slice_cap = 0, asks_machine = 0, wish = 0,
                stream = 0;
};
// A name for it, of letters and digits.
std::string trial_key(const TrialSubject& subject);

// The content of the shared file.
struct TrialNote {
  TimePoint started{};  // on the node's monotonic clock; 0: no trial has begun
  // That of the trial that others waited for: a rank that takes over from one that has left makes nobody wait anew.
  TimePoint first_started{};
  std::optional<TrialVerdict> verdict;
};
inline constexpr std::size_t longest_note = 2048;
std::string text_of(const TrialNote& note);
// A text that is damaged, cut short or of another version counts as not written.
TrialNote parse_note(std::string_view text);

// The time that one process may wait for trials, over all of its devices and communicators. Nobody waits for a trial
// that is older than that, so the waits of ranks that open their communicators one after the other do not add up.
class WaitBudget {
 public:
  explicit WaitBudget(Duration total) : total_(total), left_(total) {}
  // For a trial that began at `started`, which may lie ahead of `now` by nothing but the way here.
  Duration allowed(TimePoint started, TimePoint now) const;
  void spend(Duration waited);

 private:
  Duration total_, left_;
};

}  // namespace weft
