// The calls of a recording through a Session of this build, in the order in which they were made, and its answers
// against the recorded ones.
//
// Used by weft replay and by tests; pure. A session that decides otherwise than the recorded one is given what happened
// then all the same: nobody knows how the training would have gone on. A slice that was launched and that it would not
// have launched is not told it as launched.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/recording/reader.h"
#include "runner/recording/record_hash.h"
#include "runner/recording/recorded_session.h"

namespace weft {

// A call.
struct ReplayPlace {
  std::uint64_t call = 0, event = 0;  // so many calls with it, and so many events before it
  TimePoint time{};                   // the latest one that was named
  std::string input;                  // its name
};

struct ReplayDifference : ReplayPlace {
  std::string recorded, now;  // the first answer to the call that differs
};

// The call broke a rule of the session (WEFT_DCHECK), which what() names: the file was altered, or this Weft has a
// fault. Nothing more can be asked of the replay but its result.
struct ReplayFault : std::runtime_error {
  ReplayFault(ReplayPlace at, const char* rule) : std::runtime_error(rule), place(std::move(at)) {}
  ReplayPlace place;
};

struct ReplayResult {
  std::uint64_t calls = 0, events = 0, decisions = 0, launches = 0, records = 0;
  std::uint64_t differences = 0;  // calls with another answer; the summary is one
  std::optional<ReplayDifference> first;
};

// From a header to its end.
class Replay {
 public:
  // Records go into `records`. `same_layout`: false, the hashes of records are not comparable, and only kinds are
  // compared. `again`: where the calls are recorded anew, with the present answers; nullptr: nowhere. Both outlive
  // this.
  Replay(RecordSink& records, bool same_layout, CallSink* again = nullptr);

  // The contents of a block of calls. Throws RecordingError where it says what cannot be, and ReplayFault.
  void take(std::string_view calls);
  // No more calls. `is_cut`: of the last one not all answers were recorded, or there was none at all; else that is an
  // error.
  void end_calls(bool is_cut);
  // The session's, with what it cannot know (losses, the fill stream) as it was recorded; compared with that. Throws
  // likewise.
  TraceSummary summary(const TraceSummary& recorded);
  const ReplayResult& result() const { return result_; }

 private:
  struct Answer {
    Call call{};
    RecordHash record{};
    Decision decision{};
    TimePoint next{};
  };
  class Heard final : public RecordSink {
   public:
    Heard(Replay& replay, RecordSink& next) : replay_(replay), next_(next) {}
    void push(const Record& record) noexcept override;

   private:
    Replay& replay_;
    RecordSink& next_;
  };

  void take_entry(Call call, Take& entry);
  void make_call(Call call, Take& entry);
  void begin(Take& entry);
  void observe(Take& entry);
  void launched(Take& entry);
  void decide(Take& entry);
  void next_look(Take& entry);
  void compare(const Answer& recorded);
  void check_all_heard();
  void differ(const std::string& recorded, const std::string& now);
  ReplayPlace place() const;
  bool are_equal(const Answer& one, const Answer& other) const;
  RecordedSession& session();

  const bool same_layout_;
  CallSink* const again_;
  Heard heard_;
  CodingState state_;
  std::unique_ptr<RecordedSession> session_;
  Call call_{};  // the latest input
  std::uint64_t events_before_ = 0;
  std::vector<Answer> answers_;  // to it, of this session
  std::size_t compared_ = 0;     // of them
  bool differs_ = false;         // one of them
  bool is_passed_ = false;       // the input is a record that goes past the session
  bool would_launch_ = false;    // as of the latest decision
  ReplayResult result_;
};

}  // namespace weft
