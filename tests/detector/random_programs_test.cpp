// The detector against random legal programs, whose idle time is known exactly. WEFT_RANDOM_PROGRAMS: how many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "detector/detector.h"
#include "programs.h"
#include "questions.h"

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
    for (const Event& event : news_for(detector_, program, time, dated)) give(event);
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
  auto detector = std::make_unique<Detector>(DetectorOptions{.checks_kept = true});
  RandomProgram::Counters counters;
  for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
    if (i % 64 == 0) {
      detector = std::make_unique<Detector>(DetectorOptions{.checks_kept = true});
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

// Programs that do more than plain ones.
struct Kind {
  const char* name;
  void (*change)(ProgramOptions& made);
  double least_found = 0;  // of the idle time bubbles hold so much, the rest is uncertain
  double most_missed = 0;  // of it is so much missed in silence: limits that README.md of the detector names
  bool shared_queues = false;
};

const Kind kinds[] = {
    {"one_communicator", [](ProgramOptions& made) { made.one_communicator = made.copies = true; }, 0.99},
    {"shared_queues", [](ProgramOptions&) {}, 0.95, 0, true},
    {"kernels_in_shared_queues", [](ProgramOptions& made) { made.kernels_hold = true; }, 0.8, 0, true},
    {"copies_and_kernels_in_shared_queues", [](ProgramOptions& made) { made.copies = made.kernels_hold = true; }, 0.8,
     0.01, true},
    {"one_communicator_in_shared_queues",
     [](ProgramOptions& made) { made.one_communicator = made.kernels_hold = true; }, 0.8, 0, true},
    {"a_stream_that_cannot_be_asked", [](ProgramOptions& made) { made.unaskable = true; }, 0.75},
    {"captures", [](ProgramOptions& made) { made.captures = true; }, 0.85},
    {"copies", [](ProgramOptions& made) { made.copies = true; }, 0.99},
    {"default_streams", [](ProgramOptions& made) { made.orders = true; }, 0.85},
    {"copies_in_shared_queues", [](ProgramOptions& made) { made.copies = true; }, 0.95, 0, true},
    {"default_streams_in_shared_queues", [](ProgramOptions& made) { made.orders = true; }, 0.8, 0, true},
    {"captures_in_shared_queues", [](ProgramOptions& made) { made.captures = true; }, 0.8, 0, true},
    {"captures_and_copies", [](ProgramOptions& made) { made.captures = made.copies = true; }, 0.85},
    {"captures_and_copies_in_shared_queues", [](ProgramOptions& made) { made.captures = made.copies = true; }, 0.8, 0,
     true},
    {"captures_and_default_streams", [](ProgramOptions& made) { made.captures = made.orders = true; }, 0.75},
    {"all_but_default_streams",
     [](ProgramOptions& made) { made.captures = made.copies = made.unaskable = made.one_communicator = true; }, 0.65, 0,
     true},
    {"default_streams_that_are_not_followed", [](ProgramOptions& made) { made.orders = made.limits = true; }, 0.85,
     0.01},
    {"copies_and_default_streams", [](ProgramOptions& made) { made.copies = made.orders = true; }, 0.85, 0.01},
    {"all_with_default_streams",
     [](ProgramOptions& made) { made.captures = made.copies = made.orders = made.one_communicator = true; }, 0.7, 0.01,
     true},
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class RandomProgramsWith : public ::testing::TestWithParam<Kind> {
 protected:
  // A quarter as many of each kind.
  template <class Check>
  static void for_each(Check check) {
    const auto change = [](ProgramOptions& made, std::uint32_t seed) {
      GetParam().change(made);
      if (GetParam().shared_queues) made.queues = 1 + static_cast<int>(seed / 7 % 4);
    };
    for_each_program(programs() / 4, change, check);
  }
};
INSTANTIATE_TEST_SUITE_P(, RandomProgramsWith, ::testing::ValuesIn(kinds), [](const auto& k) { return k.param.name; });

// Idle time is reported or uncertain, and nothing is said to be idle that is not.
TEST_P(RandomProgramsWith, NothingIsMissedInSilence) {
  std::int64_t idle = 0, said = 0, silent = 0;
  for_each([&](const RandomProgram& program, Detector& detector) {
    const Seen seen = Watcher(detector).watch(program);
    const Intervals expected = program.idle();
    EXPECT_EQ(without(united(seen.idle), expected), Intervals{}) << "said to be idle";
    const Intervals missed = without(expected, united(seen.known_or_uncertain()));
    silent += length(missed);
    if (GetParam().most_missed == 0) {
      EXPECT_EQ(missed, Intervals{}) << "not said";
    }
    idle += length(expected);
    said += length(united(seen.idle));
  });
  EXPECT_GT(idle, 1000);
  EXPECT_GT(static_cast<double>(said), GetParam().least_found * static_cast<double>(idle));
  EXPECT_LE(static_cast<double>(silent), GetParam().most_missed * static_cast<double>(idle));
}

// A bubble outlives what ends it by one look at most, and a missed one is shorter than two.
void expect_one_look_at_most(const RandomProgram& program, Detector& detector, bool misses) {
  constexpr std::int64_t poll = 25;
  const Seen seen = Watcher(detector).watch_polling(program, poll);
  const Intervals expected = program.idle();
  for (const Interval& i : without(united(seen.idle), expected))
    EXPECT_LE(i.end - i.begin, poll) << i.begin << "-" << i.end << " of" << text(united(seen.idle)) << "\ntrue"
                                     << text(expected);
  if (misses) return;
  for (const Interval& i : without(expected, united(seen.known_or_uncertain())))
    EXPECT_LT(i.end - i.begin, 2 * poll) << i.begin << "-" << i.end << " of" << text(expected) << "\nseen"
                                         << text(united(seen.idle));
}

// Of the first 64 streams the detector keeps more than of the others.
TEST(RandomPrograms, IdleTimeIsExactWithVeryManyStreams) {
  const auto many = [](ProgramOptions& made, std::uint32_t seed) {
    made.streams = 60 + static_cast<int>(seed % 10);
    made.actions = 300;
  };
  std::int64_t idle = 0;
  for_each_program(programs() / 200, many, [&](const RandomProgram& program, Detector& detector) {
    const Seen seen = Watcher(detector).watch(program);
    const Intervals expected = program.idle();
    ASSERT_EQ(united(seen.idle), expected) << "seen" << text(united(seen.idle)) << "\ntrue" << text(expected);
    idle += length(expected);
  });
  EXPECT_GT(idle, 1000);
}

TEST(RandomPrograms, PollingIsWrongByOneLookAtMost) {
  for_each_program(programs() / 4, as_they_are, [](const RandomProgram& program, Detector& detector) {
    expect_one_look_at_most(program, detector, false);
  });
}

TEST_P(RandomProgramsWith, PollingIsWrongByOneLookAtMost) {
  for_each([](const RandomProgram& program, Detector& detector) {
    expect_one_look_at_most(program, detector, GetParam().most_missed > 0);
  });
}

}  // namespace
}  // namespace weft::testing
