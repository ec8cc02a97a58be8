// Recorded runs played through a Session: it decides and records what the recording says. See golden/README.md.
//
// A test per file; `golden_test FILE` prints the file with the present answers instead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "runner/policy/session.h"

namespace weft {
namespace {

long long relative(TimePoint time) {
  return time == TimePoint{} ? -1 : time.time_since_epoch().count();
}

TimePoint time_of(long long relative) {
  return relative == -1 ? TimePoint{} : TimePoint(Duration(relative));
}

// The recorder's words for what left the session.
std::string text_of(const Record& record) {
  char line[512] = "";
  if (record.kind == RecordKind::bubble) {
    const Bubble& b = record.bubble;
    const Forecast none{Duration(-1), Duration(-1), Duration(-1), 0};
    const Forecast& forecast = b.forecast ? *b.forecast : none;
    std::snprintf(line, sizeof line,
                  "= bubble %" PRIu64 " %lld %lld cause %d pattern %d iteration %" PRIu64 " ordinal %d group %" PRIu64
                  " communicator %u peers %d %d bytes %" PRIu64 " forecast %lld %lld %lld %u",
                  b.id, relative(b.opened), relative(b.closed), static_cast<int>(b.cause), static_cast<int>(b.pattern),
                  b.iteration, b.slot.ordinal, b.group, b.slot.communicator, b.slot.send_peer, b.slot.receive_peer,
                  b.slot.bytes, static_cast<long long>(forecast.low.count()),
                  static_cast<long long>(forecast.median.count()), static_cast<long long>(forecast.high.count()),
                  forecast.samples);
  } else if (record.kind == RecordKind::iteration) {
    const Iteration& i = record.iteration;
    std::snprintf(line, sizeof line,
                  "= iteration %" PRIu64 " %lld %lld groups %u idle %lld rhythm %" PRIx64 " turn %" PRIu64, i.number,
                  relative(i.started), relative(i.ended), i.groups, static_cast<long long>(i.idle.count()), i.rhythm,
                  i.turn);
  } else if (record.kind == RecordKind::slowdown) {
    const SlowdownRecord& r = record.slowdown;
    std::snprintf(
        line, sizeof line, "= slowdown %lld %.9g %.9g %.9g control %u filled %u budget %g share %g iteration %" PRIu64,
        relative(record.time), r.estimate, r.low, r.high, r.control, r.filled, r.budget, r.share, r.iteration);
  } else if (record.kind == RecordKind::anomaly) {
    std::snprintf(line, sizeof line, "= anomaly %d %s", record.anomaly.stops_filling, record.anomaly.text.c_str());
  }
  return line;
}

std::string text_of(const TraceSummary& t) {
  std::ostringstream out;
  out << "= summary window " << relative(t.window_begin) << " " << relative(t.window_end) << " iterations "
      << t.iterations << " median " << t.iteration_median.count() << " bubbles " << t.bubbles << " idle "
      << t.idle.count() << " filled " << t.filled.count() << " slices " << t.slices << " units " << t.fill_units
      << " wrong " << t.fill_units_wrong << " unfilled";
  for (const auto number : t.unfilled) out << " " << number;
  return out.str();
}

struct Lines final : RecordSink {
  std::vector<std::string> lines;
  void push(const Record& record) noexcept override {
    const std::string text = text_of(record);
    if (!text.empty()) lines.push_back(text);
  }
};

// Plays one recording, and says it again with the session's own answers.
class Player {
 public:
  std::vector<std::string> again;

  void play(const std::string& line) {
    std::istringstream in(line.substr(0, line.find(" = ")));
    std::string word;
    in >> word;
    if (word == "=") return;
    std::string answer;
    if (word == "options") begin(in);
    if (word == "event") observe(in);
    if (word == "finished") finish(in);
    if (word == "launched") session_->launched();
    if (word == "decide") answer = decide(in, line);
    if (word == "look") answer = look(in, line);
    again.push_back(answer.empty() ? line : line.substr(0, line.find(" = ")) + " = " + answer);
    take_records();
  }
  void end() { again.push_back(text_of(session_->summary(0))); }

 private:
  void begin(std::istringstream& in) {
    SessionOptions options;
    long long poll = 0;
    in >> options.device >> poll >> options.slowdown_budget >> options.fills;
    options.poll = Duration(poll);
    options.detector.checks_kept = true;
    session_ = std::make_unique<Session>(options, sink_);
  }
  void observe(std::istringstream& in) {
    Event event{};
    long long time = 0;
    int kind = 0;
    in >> time >> kind >> event.stream >> event.communicator >> event.group >> event.ticket >> event.done_ticket;
    event.time = TimePoint(Duration(time));
    event.kind = static_cast<EventKind>(kind);
    GroupSummary& s = event.summary;
    if (event.kind == EventKind::group_issued)
      in >> std::hex >> s.signature >> std::dec >> s.sent_bytes >> s.received_bytes >> s.collective_bytes >>
          s.send_peer >> s.receive_peer >> s.sends >> s.receives >> s.collectives;
    s.reduces = s.collectives != 0;
    if (event.kind == EventKind::wait_issued) in >> event.awaited.stream >> event.awaited.ticket;
    ASSERT_TRUE(in) << "an event that cannot be read";
    session_->observe(event);
  }
  void finish(std::istringstream& in) {
    SliceRecord slice;
    long long launched = 0, finished = 0, alone = 0;
    int correct = 0;
    in >> slice.unit >> slice.number >> slice.bubble >> launched >> finished >> alone >> slice.unit_done >> correct;
    slice.launched = time_of(launched);
    slice.finished = time_of(finished);
    slice.alone = Duration(alone);
    slice.correct = static_cast<std::int8_t>(correct);
    session_->finished(slice);
  }
  std::string decide(std::istringstream& in, const std::string& line) {
    long long time = 0, slice = 0, end = 0;
    FillView view;
    in >> time >> view.ready >> slice >> view.in_flight.slices >> end;
    view.candidates = {{Duration(slice)}, 1};
    view.in_flight.first_ends = view.in_flight.expected_end = time_of(end);
    session_->looked(time_of(time));
    const Decision decision = session_->decide(time_of(time), view);
    // A bubble that the budget holds back was not asked about further; now the planner's answer comes first.
    if (line.ends_with(" 0")) return std::string(decision.launch ? "1" : "0") + " -1 0";
    return std::to_string(decision.launch) + " " + std::to_string(decision.again ? relative(*decision.again) : -1) +
           " 1";
  }
  std::string look(std::istringstream& in, const std::string& line) {
    long long time = 0, recorded_again = 0;
    Pending pending;
    std::size_t markers = 0;
    in >> time >> pending.wanted >> pending.slices >> markers >> recorded_again;
    pending.markers = markers != 0;
    // Not every decision is recorded, so only looks without one can be repeated.
    if (recorded_again != -1) return line.substr(line.find(" = ") + 3);
    session_->look(time_of(time), {});
    return std::to_string(relative(session_->next_look(time_of(time), pending)));
  }
  void take_records() {
    again.insert(again.end(), sink_.lines.begin(), sink_.lines.end());
    sink_.lines.clear();
  }

  Lines sink_;
  std::unique_ptr<Session> session_;
};

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> played(const std::vector<std::string>& recording) {
  Player player;
  for (const std::string& line : recording) player.play(line);
  player.end();
  return player.again;
}

// Records stand behind the line that led to them, decisions in their own order: both sequences have to be equal.
std::vector<std::string> answers_in(const std::vector<std::string>& lines, bool records) {
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    const bool is_record = line.starts_with("= ");
    if (is_record == records && line.find("= ") != std::string::npos) found.push_back(line);
  }
  return found;
}

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, DecidesAndRecordsTheSame) {
  const std::vector<std::string> recording = lines_of(std::string(WEFT_GOLDEN) + "/" + GetParam() + ".txt");
  ASSERT_GT(recording.size(), 500U);
  const std::vector<std::string> now = played(recording);
  for (const bool records : {false, true}) {
    const std::vector<std::string> expected = answers_in(recording, records), found = answers_in(now, records);
    const auto [one, other] = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
    EXPECT_TRUE(one == expected.end() && other == found.end())
        << "recorded: " << (one == expected.end() ? "nothing more" : *one)
        << "\n     now: " << (other == found.end() ? "nothing more" : *other);
  }
  // A recording without launches and records would prove nothing.
  std::size_t launches = 0;
  for (const std::string& line : now) launches += line.starts_with("launched ");
  EXPECT_GT(launches, 30U);
  EXPECT_GT(answers_in(now, true).size(), 30U);
}

INSTANTIATE_TEST_SUITE_P(Recordings, Golden,
                         ::testing::Values("trainer_1f1b_rank0", "trainer_1f1b_rank3", "trainer_gpipe_rank0",
                                           "pytorch_1f1b_rank0", "pytorch_1f1b_rank1", "pytorch_megatron_style_rank0",
                                           "pytorch_megatron_style_rank1"),
                         [](const auto& recording) { return std::string(recording.param); });

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return RUN_ALL_TESTS();
  for (const std::string& line : weft::played(weft::lines_of(argv[1]))) std::puts(line.c_str());
  return 0;
}
