// Weft itself as a policy: the Session, asked as the dispatcher asks it.
//
// Made for each rank of a run in virtual time. Pure.
#pragma once

#include "runner/model/answers.h"
#include "runner/model/policy.h"

namespace weft::model {

class WeftPolicy final : public Policy {
 public:
  // World and sink outlive the policy.
  WeftPolicy(const SessionOptions& options, RecordSink& records, const pipeline::World& world, int rank)
      : session_(options, records), answers_(world, rank) {}

  void looks_within(Duration uncertainty) override { session_.looks_within(uncertainty); }
  void look(TimePoint now, std::span<const Event> events, std::span<const SliceRecord> finished,
            const FillView& view) override;
  Decision decide(TimePoint now, const FillView& view) override;
  void launched(Duration took) override { session_.launched(took); }
  TimePoint next_look(TimePoint now, std::uint32_t in_flight) const override;
  std::optional<TimePoint> next_decision() const override { return next_decision_; }

  std::optional<TraceSummary> summary() override { return session_.summary(0); }
  bool leaves_out() const override { return leaves_out_; }
  bool is_dark() const override { return session_.is_dark(); }
  BubbleRoom room_for(TimePoint now, const Candidates& next) const override { return session_.room_for(now, next); }

  const Session& session() const { return session_; }

 private:
  Session session_;
  Answers answers_;
  std::optional<TimePoint> next_decision_;
  bool leaves_out_ = false;
};

}  // namespace weft::model
