// The detector against random legal programs, whose idle time is known exactly. WEFT_RANDOM_PROGRAMS: how many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "detector/detector.h"
#include "programs.h"

namespace weft::testing {
namespace {

struct Seen {
  Intervals idle, uncertain;
  std::size_t anomalies = 0;

  Intervals known_or_uncertain() const {
    Intervals all = idle;
    all.insert(all.end(), uncertain.begin(), uncertain.end());
    return all;
  }
};

std::int64_t nanoseconds(TimePoint time) {
  return time.time_since_epoch().count();
}

// Steps a detector as the dispatcher does: the events since the last look, the words written since, then the questions.
class Watcher {
 public:
  explicit Watcher(Detector& detector) : detector_(detector) {}

  // Looks whenever anything has changed.
  Seen watch(const RandomProgram& program) {
    std::size_t next = 0;
    for (const std::int64_t time : program.changes()) {
      for (; next < program.events().size() && nanoseconds(program.events()[next].time) <= time; ++next)
        give(program.events()[next]);
      ask(program, time, time);
    }
    return std::move(seen_);
  }

  // Looks every so often; all that is found is dated in the middle between two looks.
  Seen watch_polling(const RandomProgram& program, std::int64_t poll) {
    std::size_t next = 0;
    std::vector<Event> words;
    for (std::int64_t time = program.changes().front(), last = time; next < program.events().size() || last == time;) {
      const std::int64_t middle = last + (time - last) / 2;
      std::vector<Event> found;
      for (; next < program.events().size() && nanoseconds(program.events()[next].time) <= time; ++next) {
        Event event = program.events()[next];
        if (is_word(event.kind)) event.time = TimePoint(Duration(std::max(middle, announced_at(event))));
        if (!is_word(event.kind)) announce(event);
        found.push_back(event);
      }
      std::stable_sort(found.begin(), found.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
      for (const Event& event : found) give(event);
      ask(program, time, middle);
      last = time;
      time += poll;
    }
    return std::move(seen_);
  }

 private:
  static bool is_word(EventKind kind) { return !is_from_hook(kind); }
  void announce(const Event& event) {
    for (const Ticket ticket : {event.ticket, event.done_ticket})
      if (ticket != 0) announced_[ticket % announced_.size()] = nanoseconds(event.time);
  }
  std::int64_t announced_at(const Event& word) const { return announced_[word.ticket % announced_.size()]; }

  void ask(const RandomProgram& program, std::int64_t time, std::int64_t dated) {
    detector_.looked(TimePoint(Duration(time)));
    if (!detector_.wants_answers()) return;
    for (const Event& event : program.news_for(detector_, time, dated)) give(event);
  }

  void give(const Event& event) {
    for (const Finding& f : detector_.observe(event)) {
      if (f.kind == FindingKind::bubble_closed)
        seen_.idle.push_back({nanoseconds(f.bubble.opened), nanoseconds(f.bubble.closed)});
      if (f.kind == FindingKind::uncertain_time)
        seen_.uncertain.push_back({nanoseconds(f.uncertain.began), nanoseconds(f.uncertain.ended)});
      if (f.kind == FindingKind::anomaly) ++seen_.anomalies;
    }
  }

  Detector& detector_;
  Seen seen_;
  std::vector<std::int64_t> announced_ = std::vector<std::int64_t>(4096);
};

std::string text(const Intervals& intervals) {
  std::ostringstream out;
  for (const Interval& i : intervals) out << " " << i.begin << "-" << i.end;
  return out.str();
}

int programs() {
  const char* wanted = std::getenv("WEFT_RANDOM_PROGRAMS");
  return wanted != nullptr ? std::atoi(wanted) : 20000;
}

// Runs so many programs, and a new detector now and then. `change` makes them those of the test.
template <class Change, class Check>
void for_each_program(int count, Change change, Check check) {
  auto detector = std::make_unique<Detector>();
  RandomProgram::Counters counters;
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    if (i % 64 == 0) {
      detector = std::make_unique<Detector>();
      counters = {};
    }
    const auto seed = static_cast<std::uint32_t>(i + 1);
    SCOPED_TRACE("program " + std::to_string(seed));
    ProgramOptions options = options_of(seed);
    change(options, seed);
    const RandomProgram program(options, seed, counters);
    check(program, *detector);
  }
}

constexpr auto as_they_are = [](ProgramOptions&, std::uint32_t) {};

TEST(RandomPrograms, IdleTimeIsExact) {
  std::int64_t idle = 0, uncertain = 0, all = 0;
  for_each_program(programs(), as_they_are, [&](const RandomProgram& program, Detector& detector) {
    const Seen seen = Watcher(detector).watch(program);
    const Intervals expected = program.idle();
    EXPECT_EQ(seen.anomalies, 0u);
    ASSERT_EQ(united(seen.idle), expected) << "seen" << text(united(seen.idle)) << "\ntrue" << text(expected);
    idle += length(expected);
    uncertain += length(united(seen.uncertain));
    all += program.changes().back() - program.changes().front();
  });
  EXPECT_GT(idle, 1000);
  // Streams are new in each program, so it has to be learned each time which of them share no hardware queue.
  EXPECT_LT(uncertain * 20, all - idle);
}

// Idle time is reported or uncertain, and nothing is said to be idle that is not.
Seen watch_without_silence(const RandomProgram& program, Detector& detector) {
  const Seen seen = Watcher(detector).watch(program);
  const Intervals expected = program.idle();
  EXPECT_EQ(without(united(seen.idle), expected), Intervals{}) << "said to be idle";
  EXPECT_EQ(without(expected, united(seen.known_or_uncertain())), Intervals{}) << "not said";
  return seen;
}

// The groups of one communicator run one by one, also on several streams.
TEST(RandomPrograms, AGroupBehindAnotherOneOfItsCommunicatorMakesNothingIdle) {
  const auto shared = [](ProgramOptions& made, std::uint32_t) { made.one_communicator = made.copies = true; };
  for_each_program(programs() / 4, shared,
                   [&](const RandomProgram& program, Detector& detector) { watch_without_silence(program, detector); });
}

// Streams share hardware queues.
TEST(RandomPrograms, WhatMayStandBehindABlockedStreamIsUncertain) {
  std::int64_t uncertain = 0, idle = 0, said = 0;
  const auto shared = [](ProgramOptions& made, std::uint32_t seed) {
    made.queues = 1 + static_cast<int>(seed / 7 % 4);
  };
  for_each_program(programs() / 4, shared, [&](const RandomProgram& program, Detector& detector) {
    const Seen seen = watch_without_silence(program, detector);
    uncertain += length(united(seen.uncertain));
    idle += length(program.idle());
    said += length(united(seen.idle));
  });
  EXPECT_GT(uncertain, 1000);
  EXPECT_GT(said * 20, idle * 19);
}

// Nobody can ask one of the streams.
TEST(RandomPrograms, WhatCannotBeToldIsUncertain) {
  std::int64_t uncertain = 0, idle = 0;
  const auto unaskable = [](ProgramOptions& made, std::uint32_t) { made.unaskable = true; };
  for_each_program(programs() / 4, unaskable, [&](const RandomProgram& program, Detector& detector) {
    const Seen seen = watch_without_silence(program, detector);
    uncertain += length(united(seen.uncertain));
    idle += length(united(seen.idle));
  });
  EXPECT_GT(uncertain, 1000);
  EXPECT_GT(idle, 1000);
}

// While a stream captures nobody can ask any.
TEST(RandomPrograms, WithCapturesNothingIsMissedInSilence) {
  std::int64_t idle = 0, said = 0;
  const auto capturing = [](ProgramOptions& made, std::uint32_t) { made.captures = true; };
  for_each_program(programs() / 4, capturing, [&](const RandomProgram& program, Detector& detector) {
    idle += length(program.idle());
    said += length(united(watch_without_silence(program, detector).idle));
  });
  EXPECT_GT(said * 20, idle * 10);
}

// A stream that copies, or waits for one that does, does not compute.
TEST(RandomPrograms, WithCopiesNothingIsMissedInSilence) {
  std::int64_t idle = 0, said = 0;
  const auto copying = [](ProgramOptions& made, std::uint32_t seed) {
    made.copies = true;
    made.queues = static_cast<int>(seed / 7 % 4);
  };
  for_each_program(programs() / 4, copying, [&](const RandomProgram& program, Detector& detector) {
    idle += length(program.idle());
    said += length(united(watch_without_silence(program, detector).idle));
  });
  EXPECT_GT(said * 20, idle * 18);
}

// The legacy default stream and blocking streams wait for each other, and no call says so.
TEST(RandomPrograms, WithDefaultStreamsNothingIsMissedInSilence) {
  std::int64_t idle = 0, said = 0;
  const auto ordered = [](ProgramOptions& made, std::uint32_t seed) {
    made.orders = true;
    made.queues = static_cast<int>(seed / 7 % 4);
  };
  for_each_program(programs() / 4, ordered, [&](const RandomProgram& program, Detector& detector) {
    idle += length(program.idle());
    said += length(united(watch_without_silence(program, detector).idle));
  });
  EXPECT_GT(said * 20, idle * 17);
}

// A bubble outlives what ends it by one look at most, and a missed one is shorter than two.
TEST(RandomPrograms, PollingIsWrongByOneLookAtMost) {
  constexpr std::int64_t poll = 25;
  for_each_program(programs() / 4, as_they_are, [&](const RandomProgram& program, Detector& detector) {
    const Seen seen = Watcher(detector).watch_polling(program, poll);
    const Intervals expected = program.idle();
    for (const Interval& i : without(united(seen.idle), expected))
      EXPECT_LE(i.end - i.begin, poll) << i.begin << "-" << i.end << " of" << text(united(seen.idle)) << "\ntrue"
                                       << text(expected);
    for (const Interval& i : without(expected, united(seen.known_or_uncertain())))
      EXPECT_LT(i.end - i.begin, 2 * poll)
          << i.begin << "-" << i.end << " of" << text(expected) << "\nseen" << text(united(seen.idle));
  });
}

}  // namespace
}  // namespace weft::testing
