// weft export --perfetto, decoded by the rules of the format: tracks and their order, slices that pair up, arrows.
#include "trace/export/perfetto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tests/trace/export/wire.h"
#include "tests/trace/export/written_run.h"

namespace weft {
namespace {

using test::WireField;
using test::WireMessage;
using test::WrittenRun;

struct Slice {
  std::string track, name;
  std::uint64_t begin = 0, end = 0;
  std::vector<std::uint64_t> flows, ended_flows;
  std::map<std::string, WireMessage> arguments;
  std::map<std::string, std::string> texts;  // of those that are texts
};

// A trace as a viewer takes it: the end of a slice is that of the latest one that was begun on its track.
class DecodedTrace {
 public:
  explicit DecodedTrace(const std::string& path) {
    std::vector<WireMessage> packets;
    for (const WireField& packet : WireMessage(test::read_file(path)).all(1)) packets.emplace_back(packet.bytes);
    snapshot = packets.front().message(6);
    for (const WireMessage& packet : packets) {
      if (packet.has(60)) add_track(packet.message(60));
      if (packet.has(12)) add_names(packet.number(10), packet.message(12));
    }
    std::ranges::stable_sort(packets, {}, [](const WireMessage& packet) { return packet.number(8); });
    for (const WireMessage& packet : packets)
      if (packet.has(11)) add_event(packet);
    for (const auto& [track, open] : open_) EXPECT_TRUE(open.empty()) << "a slice without end on " << name_of(track);
  }

  // "training run", below it the ranks, each with what its rows are called.
  std::vector<std::string> children_of(std::uint64_t parent) const {
    std::vector<std::pair<std::uint64_t, std::string>> found;
    for (const auto& [id, track] : tracks_)
      if (track.number(5) == parent) found.emplace_back(track.number(12), track.text(2));
    std::ranges::stable_sort(found, {}, &std::pair<std::uint64_t, std::string>::first);
    std::vector<std::string> names;
    for (const auto& [order, name] : found) names.push_back(name);
    return names;
  }
  std::uint64_t id_of(const std::string& name) const {
    for (const auto& [id, track] : tracks_)
      if (track.text(2) == name) return id;
    return 0;
  }
  const WireMessage& track(std::uint64_t id) const { return tracks_.at(id); }
  std::vector<Slice> on(const std::string& track) const {
    std::vector<Slice> found;
    for (const Slice& slice : slices)
      if (slice.track == track) found.push_back(slice);
    return found;
  }

  std::vector<Slice> slices, instants;
  std::map<std::string, std::vector<double>> counters;
  WireMessage snapshot;

 private:
  std::string name_of(std::uint64_t track) const { return tracks_.at(track).text(2); }

  void add_track(const WireMessage& track) {
    EXPECT_TRUE(tracks_.emplace(track.number(1), track).second) << "two tracks with one id";
    EXPECT_TRUE(track.number(5) == 0 || tracks_.contains(track.number(5))) << "a parent that is not known yet";
  }

  // Numbers that stand for texts in the packets of a sequence.
  void add_names(std::uint64_t sequence, const WireMessage& lists) {
    for (const std::uint32_t kind : {1U, 2U, 3U, 29U})
      for (const WireField& field : lists.all(kind)) {
        const WireMessage entry(field.bytes);
        EXPECT_TRUE(names_.emplace(std::tuple(sequence, kind, entry.number(1)), entry.text(2)).second);
      }
  }
  // Written out in a field, or a number in another one.
  std::string text_of(std::uint64_t sequence, const WireMessage& message, std::uint32_t written, std::uint32_t kind,
                      std::uint32_t number) const {
    if (!message.has(number)) return message.text(written);
    const auto found = names_.find({sequence, kind, message.number(number)});
    return found == names_.end() ? "a number that stands for nothing" : found->second;
  }

  void add_event(const WireMessage& packet) {
    EXPECT_EQ(packet.number(58), 3u) << "CLOCK_MONOTONIC";
    EXPECT_NE(packet.number(10), 0u) << "a sequence";
    const WireMessage event = packet.message(11);
    const std::uint64_t track = event.number(11);
    const std::uint64_t sequence = packet.number(10);
    const std::string name = text_of(sequence, event, 23, 2, 10);
    Slice slice{name_of(track), name, packet.number(8), packet.number(8), {}, {}, {}, {}};
    EXPECT_NE(text_of(sequence, event, 22, 1, 3).empty(), event.number(9) == 1 || event.number(9) == 3);
    for (const WireField& flow : event.all(47)) slice.flows.push_back(flow.value);
    for (const WireField& flow : event.all(48)) slice.ended_flows.push_back(flow.value);
    for (const WireField& field : event.all(4)) {
      const WireMessage argument(field.bytes);
      const std::string key = text_of(sequence, argument, 10, 3, 1);
      slice.arguments[key] = argument;
      slice.texts[key] = text_of(sequence, argument, 6, 29, 17);
    }
    std::vector<std::size_t>& open = open_[track];
    if (event.number(9) == 1) {
      EXPECT_TRUE(open.empty()) << "two slices at the same time on " << slice.track;
      open.push_back(slices.size());
      slices.push_back(slice);
    } else if (event.number(9) == 2) {
      ASSERT_FALSE(open.empty());
      slices[open.back()].end = packet.number(8);
      open.pop_back();
    } else if (event.number(9) == 3) {
      instants.push_back(slice);
    } else {
      counters[slice.track].push_back(event.real(44));
    }
  }

  std::map<std::uint64_t, WireMessage> tracks_;
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>, std::string> names_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
};

struct Exported {
  explicit Exported(const WrittenRun& written, ExportWanted wanted = {}) {
    wanted.directories = {written.traces.path()};
    run = find_exported_run(wanted, nullptr);
    OutputFile file(written.output / "run.pftrace");
    counts = export_perfetto(run, plain_names(run), file, nullptr);
    trace.emplace(written.output / "run.pftrace");
  }
  ExportedRun run;
  PerfettoCounts counts;
  std::optional<DecodedTrace> trace;
};

std::string all_of(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return all;
}

TEST(Perfetto, ShowsRanksInTheirOrderBelowTheRun) {
  WrittenRun written;
  for (const int rank : {2, 10}) written.write(rank, test::header_line(rank, 11) + test::communicator_line(0, "null"));
  const Exported exported(written);
  const DecodedTrace& trace = *exported.trace;
  EXPECT_EQ(trace.children_of(0), std::vector<std::string>{"training run"});
  EXPECT_EQ(trace.track(trace.id_of("training run")).number(11), 3u) << "explicit order";
  std::vector<std::string> ranks = trace.children_of(trace.id_of("training run"));
  ASSERT_EQ(ranks.front(), "notes of weft export");
  ranks.erase(ranks.begin());
  EXPECT_EQ(ranks, (std::vector<std::string>{"rank 0 · node-a · GPU 0", "rank 1 · node-a · GPU 0",
                                             "rank 2 · node-a · GPU 0", "rank 10 · node-a · GPU 0"}));
  EXPECT_EQ(
      trace.children_of(trace.id_of("rank 1 · node-a · GPU 0")),
      (std::vector<std::string>{"iterations", "bubbles: receive", "communicator 1 pipeline (rank 1 of 2)", "received",
                                "fill", "fill", "idle share of the iteration", "forecast error", "events"}));
}

TEST(Perfetto, HasEachRecordAtItsTime) {
  const WrittenRun written;
  const Exported exported(written);
  const DecodedTrace& trace = *exported.trace;
  const std::vector<Slice> bubbles = trace.on("bubbles: receive");
  ASSERT_EQ(bubbles.size(), 1u);
  EXPECT_EQ(bubbles[0].name, "receive from rank 0, slot 5");
  EXPECT_EQ(bubbles[0].begin, 1'060'000u);
  EXPECT_EQ(bubbles[0].end, 1'460'000u);
  EXPECT_EQ(bubbles[0].texts.at("pattern"), "event_wait");
  EXPECT_EQ(bubbles[0].arguments.at("bytes").number(3), 65536u);
  EXPECT_EQ(bubbles[0].arguments.at("send_peer").number(4), static_cast<std::uint64_t>(-1));
  EXPECT_EQ(bubbles[0].arguments.at("forecast_median").number(4), 300'000u);
  EXPECT_EQ(trace.on("iterations").size(), 2u);
  EXPECT_EQ(trace.on("fill").size(), 2u) << "they overlap, so each has its own row";
  EXPECT_EQ(trace.counters.at("idle share of the iteration"), (std::vector<double>{0, 40}));
  EXPECT_EQ(trace.counters.at("forecast error"), std::vector<double>{25});
  EXPECT_EQ(exported.counts.slices, trace.slices.size());
  EXPECT_EQ(exported.counts.instants, trace.instants.size());
}

// The frames come in the trace behind the first bubble of their slot, and belong to that one, too.
TEST(Perfetto, SaysWhichCallABubbleWaitedFor) {
  WrittenRun written;
  const std::string rhythm = "\"00000000000000bb\"";
  written.write(1, test::header_line(1, 2) + test::communicator_line(1));
  written.write(0, test::header_line(0, 2) + test::communicator_line(0) +
                       test::bubble_line(1, 1000, 1100, "receive", "event_wait", rhythm) +
                       test::call_frame_line("python", 0, "receive_forward", 120) +
                       test::call_frame_line("python", 1, "one_iteration", 88) +
                       test::bubble_line(2, 1200, 1300, "receive", "event_wait", rhythm) +
                       test::bubble_line(3, 1400, 1500) + test::bubble_line(4, 1600, 1700, "schedule", "said", rhythm));
  const Exported exported(written);
  const std::vector<Slice> bubbles = exported.trace->on("bubbles: receive");
  ASSERT_EQ(bubbles.size(), 3u);
  for (const std::size_t known : {0, 1}) {
    EXPECT_EQ(bubbles[known].texts.at("call_site_0"), "train.py:120 receive_forward");
    EXPECT_EQ(bubbles[known].texts.at("call_site_1"), "train.py:88 one_iteration");
    EXPECT_FALSE(bubbles[known].texts.contains("call_site_2"));
  }
  EXPECT_FALSE(bubbles[2].texts.contains("call_site_0")) << "of no rhythm";
  ASSERT_EQ(exported.trace->on("bubbles: schedule").size(), 1u);
  EXPECT_FALSE(exported.trace->on("bubbles: schedule")[0].texts.contains("call_site_0")) << "of no group";
}

TEST(Perfetto, HasOnePairOfClocks) {
  const WrittenRun written;
  const Exported exported(written);
  std::map<std::uint64_t, std::uint64_t> clocks;
  for (const WireField& clock : exported.trace->snapshot.all(1))
    clocks[WireMessage(clock.bytes).number(1)] = WireMessage(clock.bytes).number(2);
  EXPECT_EQ(clocks, (std::map<std::uint64_t, std::uint64_t>{{3, 1'000'000}, {1, 1'700'000'000'000'000'000}}));
}

TEST(Perfetto, DrawsAnArrowFromTheSendersGroupToTheReceiversEnd) {
  const WrittenRun written;
  const Exported exported(written);
  EXPECT_EQ(exported.counts.sends, 1u);
  EXPECT_EQ(exported.counts.receives, 1u);
  std::vector<std::uint64_t> begun, ended;
  for (const Slice& slice : exported.trace->slices) {
    begun.insert(begun.end(), slice.flows.begin(), slice.flows.end());
    if (!slice.flows.empty()) {
      EXPECT_EQ(slice.name, "send of 64 KiB to rank 1");
      EXPECT_EQ(slice.texts.at("operations_0_kind"), "send");
    }
  }
  for (const Slice& instant : exported.trace->instants) {
    ended.insert(ended.end(), instant.ended_flows.begin(), instant.ended_flows.end());
    if (!instant.ended_flows.empty()) {
      EXPECT_EQ(instant.begin, 1'450'000u);
    }
  }
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun, ended);
}

// Two messages, the other way round on the other communicator: each has its own arrow.
TEST(Perfetto, KeepsMessagesApart) {
  WrittenRun written;
  std::string sends = test::header_line(0, 2) + test::communicator_line(0);
  std::string receives = test::header_line(1, 2) + test::communicator_line(1);
  for (int k = 1; k <= 50; ++k) {
    sends += test::group_line(k, k % 2 == 0 ? "send" : "receive", 1, (k + 1) / 2, 1000 + 10 * k, 1009 + 10 * k);
    receives += test::group_line(k, k % 2 == 0 ? "receive" : "send", 0, (k + 1) / 2, 1000 + 10 * k, 1009 + 10 * k);
  }
  written.write(0, sends);
  written.write(1, receives);
  const Exported exported(written);
  std::set<std::uint64_t> begun, ended;
  for (const Slice& slice : exported.trace->slices) begun.insert(slice.flows.begin(), slice.flows.end());
  for (const Slice& instant : exported.trace->instants)
    ended.insert(instant.ended_flows.begin(), instant.ended_flows.end());
  EXPECT_EQ(begun.size(), 50u);
  EXPECT_EQ(begun, ended);
}

TEST(Perfetto, LetsNoArrowRunBackwardsBecauseLooksAreApart) {
  WrittenRun written;
  written.write(0,
                test::header_line(0, 2) + test::communicator_line(0) + test::group_line(1, "send", 1, 1, 1451, 1500));
  const Exported exported(written);
  EXPECT_EQ(exported.counts.backwards, 0u);
  const auto arrival =
      std::ranges::find_if(exported.trace->instants, [](const Slice& instant) { return !instant.ended_flows.empty(); });
  ASSERT_NE(arrival, exported.trace->instants.end());
  EXPECT_EQ(arrival->begin, 1'451'001u) << "behind the begin of the send, by less than both are known to";
}

TEST(Perfetto, SaysHowManyMessagesArrivedBeforeTheyWereSent) {
  WrittenRun written;
  written.write(0,
                test::header_line(0, 2) + test::communicator_line(0) + test::group_line(1, "send", 1, 1, 1460, 1500));
  EXPECT_EQ(Exported(written).counts.backwards, 1u);
}

std::string with(std::string text, const std::string& old, const std::string& other) {
  return text.replace(text.find(old), old.size(), other);
}

// By their wall clocks half of the messages would arrive 7 ms before they are sent.
TEST(Perfetto, PutsHostsOnOneClockByTheirMessages) {
  constexpr long ahead = 7000, latency = 40;
  const std::string other_host = with(with(test::header_line(1, 2), "\"b1\"", "\"b2\""), "node-a", "node-b");
  WrittenRun written;
  std::string here = test::header_line(0, 2) + test::communicator_line(0);
  std::string there = other_host + test::communicator_line(1);
  for (int k = 1; k <= 40; ++k) {
    const long time = 1000L * k, answer = time + 500;
    here += test::group_line(2 * k, "send", 1, k, time, time + latency) +
            test::group_line(2 * k + 1, "receive", 1, k, answer, answer + latency);
    there += test::group_line(2 * k, "receive", 0, k, time + ahead, time + ahead + latency) +
             test::group_line(2 * k + 1, "send", 0, k, answer + ahead, answer + ahead + latency);
  }
  written.write(0, here);
  written.write(1, there);
  const Exported exported(written);
  EXPECT_EQ(exported.counts.backwards, 0u);
  EXPECT_EQ(exported.counts.receives, 80u);
  const auto is_note = [](const std::string& note) {
    return note.starts_with("clocks: host node-b is 7.000 ms ahead");
  };
  EXPECT_TRUE(std::ranges::any_of(exported.run.notes, is_note));
  for (const Slice& instant : exported.trace->instants) {
    if (instant.ended_flows.empty()) continue;
    // Sent at whole and half milliseconds of the first host, known to 1 us each, and as the clocks are.
    const auto after = static_cast<double>(instant.begin / 1000 % 500);
    EXPECT_NEAR(after, latency, latency + 10) << instant.begin;
  }
}

TEST(Perfetto, HasNoArrowWhereTheCommunicatorIsNotKnownElsewhere) {
  WrittenRun written;
  written.write(
      0, test::header_line(0, 2) + test::communicator_line(0, "null") + test::group_line(1, "send", 1, 1, 1100, 1500));
  const Exported exported(written);
  EXPECT_EQ(exported.counts.sends, 0u);
  const std::vector<Slice> groups = exported.trace->on("communicator 1 pipeline (rank 0 of 2)");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].name, "send of 64 KiB to 1 of communicator 1") << "a place in a communicator is no rank";
}

TEST(Perfetto, NamesTellForWhomABubbleWaited) {
  WrittenRun written;
  written.write(1, test::header_line(1, 2) + test::communicator_line(1) +
                       test::bubble_line(1, 1100, 1200, "host", "posted_early") +
                       test::bubble_line(2, 1300, 1400, "schedule", "said"));
  const Exported exported(written);
  EXPECT_EQ(exported.trace->on("bubbles: host")[0].name, "host, while a group from rank 0 was under way, slot 5");
  EXPECT_EQ(exported.trace->on("bubbles: schedule")[0].name,
            "schedule, as the training said, bubble 5 of the iteration");
}

TEST(Perfetto, SaysInTheTraceThatGroupsAreMissing) {
  WrittenRun written;
  written.write(0, test::header_line(0, 2) + test::communicator_line(0) + test::iteration_line(1, 1000, 2000, 0));
  const Exported exported(written);
  std::vector<std::string> notes;
  for (const Slice& instant : exported.trace->instants)
    if (instant.track == "notes of weft export") notes.push_back(instant.name);
  EXPECT_EQ(notes, exported.run.notes);
  EXPECT_NE(all_of(notes).find("rank 0: the trace has no groups (WEFT_TRACE_GROUPS=off"), std::string::npos);
}

TEST(Perfetto, ShowsGroupsWhoseEndOrBeginWasNotSeen) {
  WrittenRun written;
  std::string line = test::group_line(1, "send", 1, 1, 1100, 1500);
  line.replace(line.find("\"ended\": 1500000"), 16, "\"ended\": null");
  written.write(0, test::header_line(0, 2) + test::communicator_line(0) + line);
  const Exported exported(written);
  const std::vector<Slice> groups = exported.trace->on("communicator 1 pipeline (rank 0 of 2)");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].name, "send of 64 KiB to rank 1 (its end was not seen)");
  EXPECT_EQ(groups[0].begin, 1'100'000u);
  EXPECT_EQ(groups[0].end, 1'100'000u);
}

TEST(Perfetto, TakesOnlyTheWantedRanksAndIterations) {
  WrittenRun written;
  std::string lines = test::header_line(0, 2) + test::communicator_line(0);
  for (int k = 1; k <= 5; ++k)
    lines +=
        test::bubble_line(k, 1000 * k + 100, 1000 * k + 200) + test::iteration_line(k, 1000 * k, 1000 * k + 999, 100);
  written.write(0, lines);
  const Exported exported(written, {{}, {{0, 0}}, NumberRange{2, 3}});
  const DecodedTrace& trace = *exported.trace;
  EXPECT_EQ(trace.children_of(trace.id_of("training run")).size(), 2u) << "the notes and rank 0";
  std::vector<std::string> names;
  for (const Slice& slice : trace.on("iterations")) names.push_back(slice.name);
  EXPECT_EQ(names, (std::vector<std::string>{"iteration 2", "iteration 3"}));
  EXPECT_EQ(trace.on("bubbles: receive").size(), 2u);
}

// Numbers are given for the first ones only.
TEST(Perfetto, HasTheNamesOfAllGroupsHoweverManyThereAre) {
  WrittenRun written;
  std::string lines = test::header_line(0, 2);
  for (int k = 1; k <= 5000; ++k) lines += test::group_line(k, "send", k, 1, 1000 + k, 1001 + k);
  written.write(0, lines);
  const Exported exported(written, {{}, {{0, 0}}, {}});
  std::set<std::string> names;
  for (const Slice& slice : exported.trace->on("communicator 1")) names.insert(slice.name);
  EXPECT_EQ(names.size(), 5000u);
}

// Slices of a trace that cannot be true still pair up, and memory stays bounded.
TEST(Perfetto, LeavesOutWhatOverlapsTooMuchAndCountsIt) {
  WrittenRun written;
  std::string lines = test::header_line(0, 2);
  for (int k = 1; k <= 100; ++k) lines += test::slice_line(k, 1000, 2000);
  written.write(0, lines);
  const Exported exported(written, {{}, {{0, 0}}, {}});
  EXPECT_EQ(exported.trace->on("fill").size(), 64u);
  EXPECT_EQ(exported.counts.left_out, 36u);
}

}  // namespace
}  // namespace weft
