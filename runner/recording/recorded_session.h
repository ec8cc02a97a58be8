// A Session and, where one is wanted, a recording of it: each call that changes it, with what it was given, and what it
// answered. The only way from the dispatcher to its Session, so nothing reaches one past the recording.
//
// Used as the Session itself is, see there. Without a recording it only passes calls on. With one, each call makes a
// few entries of some ten bytes and hands them to the sink: no memory, no lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runner/policy/session.h"
#include "runner/recording/bytes.h"
#include "trace/record_sink.h"

namespace weft {

// Where the entries of a recording go, in their order.
class CallSink {
 public:
  virtual ~CallSink() = default;
  virtual void push(std::string_view entry) noexcept = 0;
};

class RecordedSession {
 public:
  // `records` and `calls` outlive this; `calls` may be nullptr: nothing is recorded.
  RecordedSession(const SessionOptions& options, RecordSink& records, CallSink* calls);

  // For questions, which change nothing.
  const Session& session() const { return session_; }
  bool fills() const { return session_.fills(); }
  bool filling_is_over() const { return session_.filling_is_over(); }
  bool bubble_is_open() const { return session_.bubble_is_open(); }
  TraceSummary summary(std::uint64_t dropped_records) const { return session_.summary(dropped_records); }

  void observe(const Event& event);
  void looks_within(Duration uncertainty);
  void looked(TimePoint time);
  void interrupted(TimePoint now);
  void finished(const SliceRecord& slice);
  void moved(const MoveRecord& move);
  void look(TimePoint now, const FillView& view);
  Decision decide(TimePoint now, const FillView& view);
  void launched(Duration took);
  void launched_beside_work(TimePoint now, Duration alone);
  TimePoint next_look(TimePoint now, const Pending& pending) const;
  void job_ended(TimePoint now, std::uint32_t job, bool failed, std::string_view why, bool others);
  void end_filling(TimePoint now, std::string_view reason, Audience audience = Audience::every_rank);
  void begin_filling(TimePoint now, const JobRecord& job);
  void no_filling(TimePoint now, std::string_view reason);
  void note(TimePoint now, std::string_view text);
  void trouble(TimePoint now, std::string_view text, Audience where_nothing_is_filled);
  void note_work_under_way(TimePoint now);
  void end(TimePoint now);

  // A record that is none of the session's, but has its place among them.
  void pass(const Record& record);

 private:
  struct Calls {
    CallSink& sink;
    CodingState state{};
  };
  // On their way out records leave their hashes in the recording.
  class Tap final : public RecordSink {
   public:
    Tap(RecordSink& next, Calls* calls) : next_(next), calls_(calls) {}
    void push(const Record& record) noexcept override;

   private:
    RecordSink& next_;
    Calls* const calls_;
  };
  template <class... Values>
  static void put(Calls* calls, Call call, const Values&... values) noexcept;

  RecordSink& records_;
  const std::unique_ptr<Calls> calls_;  // nullptr: nothing is recorded
  Tap tap_;
  Session session_;
};

}  // namespace weft
