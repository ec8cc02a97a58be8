// The compared systems' common ground: each knows when a bubble is open. They learn that from changed frameworks. Here
// Weft's detector tells them, so that nothing but their decisions differs.
//
// Used by the model of a rank. Pure.
#pragma once

#include "detector/detector.h"
#include "runner/model/answers.h"
#include "runner/model/policy.h"

namespace weft::model {

class DetectorPolicy : public Policy {
 public:
  static constexpr Duration poll{50'000};

  DetectorPolicy(const pipeline::World& world, int rank) : answers_(world, rank) {}

  void look(TimePoint now, std::span<const Event> events, std::span<const SliceRecord> finished,
            const FillView& view) override;
  void launched(Duration) override {}
  TimePoint next_look(TimePoint now, std::uint32_t) const override { return now + poll; }

 protected:
  std::optional<Bubble> open_bubble() const { return detector_.open_bubble(); }
  virtual void closed(const Bubble&) {}
  virtual void finished_one(TimePoint) {}

 private:
  Detector detector_;
  Answers answers_;
};

}  // namespace weft::model
