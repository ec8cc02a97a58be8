// The variant of a fill job that runs on a rank in virtual time.
//
// Used by the executor. Pure. The rule is that of a training (policy/variants); the needs of each variant are known, so
// none is tried.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runner/model/job.h"
#include "runner/policy/bubble_room.h"
#include "runner/policy/variants.h"

namespace weft::model {

class VariantChoice {
 public:
  explicit VariantChoice(const Job& job) : job_(job), rule_(job.variants()) {}

  // With so much free memory. False: no variant fits.
  bool choose(std::uint64_t free, TimePoint now);
  // Chooses anew, by this and the room that bubbles have now. True: it is another one; why_changed() says why.
  bool change(std::uint64_t free, TimePoint now, Growth growth);

  std::size_t present() const { return present_; }
  const std::string& name() const { return job_.variant(present_); }
  std::uint64_t reserved() const { return reserved_; }  // bytes: what the job may have, whatever variant of it runs
  const std::string& why() const { return why_; }       // no better one runs; "": there is none
  const std::string& why_changed() const { return why_changed_; }
  RoomWatch& watch() { return watch_; }

 private:
  void learn_memory(Variants& rule, std::uint64_t free) const;
  void begin(std::size_t variant, std::uint64_t free, TimePoint now);
  std::string why_no_better(std::uint64_t free) const;

  const Job& job_;
  Variants rule_;
  std::size_t present_ = 0;
  std::uint64_t reserved_ = 0;
  RoomWatch watch_;
  std::array<std::string, most_variants> no_room_;  // why bubbles refuse it
  std::string why_, why_changed_;
};

}  // namespace weft::model
