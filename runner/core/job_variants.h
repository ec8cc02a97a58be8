// The variants of one fill job of a device: which of them is in its turn, with how much memory, and why no better one.
//
// Threads of the main job inside the core's services, one at a time per device. The rule is that of policy/variants;
// here are its names, arguments and memory. A job without variants has all of this, too, with one nameless variant.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runner/core/room_board.h"
#include "runner/options/fill_plan.h"
#include "runner/policy/variants.h"

namespace weft {

class JobVariants {
 public:
  explicit JobVariants(JobPlan plan);

  // Of the variant in its turn. Its memory is what the job may have now: with variants perhaps less than it wants.
  const JobPlan& present() const { return present_; }
  std::string name() const;  // of it; "": the job has none
  // The failure of the one before it, and why the better ones do not run; "": there is nothing to say.
  std::string why() const;

  bool are_several() const { return plan_.variants.size() > 1; }
  bool may_grow() const { return may_change() && variant_ != 0; }
  bool may_change() const { return are_several() && rule_.may_change(); }

  // Some of the job may fit in so many bytes.
  bool may_fit(std::uint64_t memory) const;
  // Chooses for so many free bytes. False: nothing of the job fits, and what was chosen stays.
  bool choose(std::uint64_t free);
  // That one could not be made ready: it did not fit in the memory it was chosen with, or it cannot run at all. True:
  // another one may, now or with more memory.
  enum class Fault : std::uint8_t { lacks_memory, cannot_run, passing };
  // `passing`: the fault was not its own, and it may be tried again, a few times.
  bool failed(const std::string& fault, Fault kind);

  // It has become ready; what is to be found out about it from here on.
  void began(TimePoint now);
  RoomWish wish() const { return rule_.wish(variant_, present_.memory); }
  // Another one is to be made ready, by what is found about bubbles now and with so many bytes for the job:
  // why_changed() says why. It counts with changes().
  bool is_to_change(const RoomFound& found, std::uint64_t free, TimePoint now, Growth growth);
  // Bubbles have no room for the present one, and there is none that is smaller.
  bool is_stuck(const RoomFound& found, std::uint64_t free) const {
    return found.finding == RoomFinding::no_room && !(are_several() && rule_.has_smaller(variant_, part_of(free)));
  }
  void changes();
  void stays() { rule_.stays(); }  // there is no further change
  const std::string& why_changed() const { return why_changed_; }

 private:
  bool exist() const { return !plan_.variants.empty(); }
  std::uint64_t part_of(std::uint64_t memory) const { return memory < plan_.memory ? memory : plan_.memory; }

  JobPlan plan_;  // of the user
  JobPlan present_;
  Variants rule_, changed_;  // `changed_`: as of the change that is to be made
  std::size_t variant_ = 0, next_ = 0;
  std::array<std::string, most_variants> whys_;  // of each, why it does not run
  std::string failure_;                          // since one has begun
  int passing_faults_ = 0;                       // likewise
  std::string why_changed_;
};

}  // namespace weft
