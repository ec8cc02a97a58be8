// One RankWriter for each rank, into one file; see the header.
#include "trace/export/perfetto.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "trace/export/lanes.h"
#include "trace/export/messages.h"
#include "trace/export/perfetto_packets.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

constexpr TrackId root_track = 1, notes_track = 2;
constexpr unsigned rank_shift = 32;  // the tracks of rank i have ids from (i + 1) << 32 on

// The rows of a rank from above, by their numbers. Bubbles have one for each cause, groups one for each communicator.
enum Row : std::int32_t {
  iterations_row = 0,
  bubbles_row = 10,
  uncertain_row = 20,
  dark_row = 21,
  groups_row = 1000,
  received_row = 2'000'000,
  fill_row,
  moves_row,
  idle_row,
  forecast_row,
  memory_row,
  slowdown_row,
  watching_row,
  events_row,
};
constexpr std::uint64_t most_communicators = 100'000;
constexpr std::size_t most_tracks = 4096;  // of a rank: a trace that was tampered with may name any number

// A bubble with the frames of the call that it waited for. nullptr: they are not known.
struct PlacedBubble {
  const Bubble& bubble;
  const CallSite* call_site;
};

void visit_fields(auto& fields, const PlacedBubble& placed) {
  constexpr std::array keys{"call_site_0", "call_site_1", "call_site_2", "call_site_3",
                            "call_site_4", "call_site_5", "call_site_6", "call_site_7"};
  visit_fields(fields, placed.bubble);
  if (placed.call_site == nullptr) return;
  for (std::size_t i = 0; i < std::min(keys.size(), placed.call_site->size()); ++i)
    fields.text(keys[i], text_of((*placed.call_site)[i], false));
}

class RankWriter : public RecordTaker {
 public:
  RankWriter(const ExportedRun& run, std::size_t index, const EventNames& names, const SendBegins& begins,
             PerfettoPackets& packets, PerfettoCounts& counts)
      : run_(run),
        rank_(run.ranks[index]),
        names_(names),
        begins_(begins),
        packets_(packets),
        counts_(counts),
        next_track_((index + 1) << rank_shift) {
    packets_.begin_sequence(static_cast<std::uint32_t>(index + 2));  // the first is that of the notes
    own_track_ = next_track_++;
    packets_.track({own_track_, root_track, names_.rank(rank_), static_cast<std::int32_t>(index + 1), true, nullptr});
  }

  void header(const TraceHeader&, std::size_t segment) override { segment_ = segment; }
  void take(const Record& record) override {
    visit_kind(record, [&](const auto& what) { take(record.time, what); });
  }

 private:
  void take(TimePoint, const Bubble& bubble) {
    const std::string cause = name_of(bubble.cause);
    const CallSite* const call_site = rank_.call_sites.find({bubble.rhythm, bubble.slot.ordinal}, bubble.cause);
    slice(bubbles_row + static_cast<std::int32_t>(bubble.cause), "bubbles: " + cause,
          {0, names_.bubble(rank_, bubble), "bubble", nullptr}, bubble.opened, bubble.closed,
          PlacedBubble{bubble, call_site});
    const double length = static_cast<double>((bubble.closed - bubble.opened).count());
    if (bubble.forecast && length > 0)
      counter(forecast_row, "forecast error", "%", bubble.closed,
              100 * std::abs(static_cast<double>(bubble.forecast->median.count()) - length) / length);
  }

  void take(TimePoint, const UncertainRecord& uncertain) {
    slice(uncertain_row, "uncertain", {0, "uncertain", "uncertain", nullptr}, uncertain.began, uncertain.ended,
          uncertain);
  }

  void take(TimePoint, const DarkTime& dark) {
    slice(dark_row, "dark", {0, "dark: not watched", "dark", nullptr}, dark.began, dark.ended, dark);
  }

  void take(TimePoint, const SliceRecord& done) {
    const auto job = jobs_.find(done.job);
    const std::string name = job == jobs_.end() ? "fill job " + std::to_string(done.job) : job->second;
    slice(fill_row, "fill", {0, name, "fill", nullptr}, done.launched, done.finished, done);
  }

  void take(TimePoint, const MoveRecord& move) {
    slice(moves_row, "fill memory moves",
          {0, move.way == MoveWay::to_host ? "fill memory to the host" : "fill memory to the device", "fill", nullptr},
          move.launched, move.finished, move);
  }

  void take(TimePoint, const Iteration& iteration) {
    slice(iterations_row, "iterations", {0, "iteration " + std::to_string(iteration.number), "iteration", nullptr},
          iteration.started, iteration.ended, iteration);
    const double length = static_cast<double>((iteration.ended - iteration.started).count());
    if (iteration.idle_known && length > 0)
      counter(idle_row, "idle share of the iteration", "%", iteration.started,
              100 * static_cast<double>(iteration.idle.count()) / length);
  }

  void take(TimePoint time, const JobRecord& job) {
    const std::string name = printable(job.name);
    if (jobs_.size() < most_jobs || jobs_.contains(job.job)) jobs_[job.job] = name;
    event(time, "fill job " + name + " " + job_event_names[static_cast<std::size_t>(job.event)], job);
  }

  void take(TimePoint time, const MemoryRecord& memory) {
    event(time, std::string("fill memory ") + memory_event_names[static_cast<std::size_t>(memory.event)], memory);
    counter(memory_row, "fill memory", "bytes", time, static_cast<double>(memory.reserved));
  }

  void take(TimePoint time, const AnomalyRecord& anomaly) { event(time, printable(anomaly.text), anomaly); }

  void take(TimePoint time, const CommunicatorRecord& communicator) {
    event(time,
          names_.communicator(rank_, communicator.communicator) + " " +
              communicator_event_names[static_cast<std::size_t>(communicator.event)],
          communicator);
  }

  void take(TimePoint, const CallFrameRecord&) {}  // bubbles have them
  void take(TimePoint, const ClockRecord&) {}      // a pair of clocks, and this trace has one clock

  void take(TimePoint time, const SlowdownRecord& slowdown) {
    if (slowdown.control != 0) counter(slowdown_row, "slowdown by filling", "%", time, 100 * slowdown.estimate);
  }

  void take(TimePoint time, const WatchingRecord& watching) {
    if (watching.dark != 0) counter(watching_row, "slowdown by watching", "%", time, 100 * watching.estimate);
  }

  void take(TimePoint time, const LimitRecord& limit) {
    event(time, "WEFT_TRACE_LIMIT is reached: from here on most records are missing", limit);
  }

  void take(TimePoint time, const GroupRecord& group) {
    const TimePoint end = group.ended_known ? group.ended : group.begun_known ? group.begun : time;
    const TimePoint begin = std::min(group.begun_known ? group.begun : end, end);
    const GroupMessages messages = messages_of(rank_, group);
    const PerfettoFlows sent{messages.sent, {}};
    const std::int32_t row =
        groups_row + static_cast<std::int32_t>(std::min<std::uint64_t>(group.communicator, most_communicators));
    std::string name = names_.group(rank_, group);
    if (!group.begun_known && group.ended_known) name += " (its begin was not seen)";
    if (!group.ended_known) name += " (its end was not seen)";
    slice(row, names_.communicator(rank_, group.communicator), {0, name, "group", &sent}, begin, end, group);
    counts_.sends += messages.sent.size();
    if (group.ended_known && !messages.received.empty()) arrive(group, messages);
  }

  // The end of the arrows stands at the end of the group: at its begin nothing has arrived.
  void arrive(const GroupRecord& group, const GroupMessages& messages) {
    const std::optional<TrackId> track = track_of(received_row, 0, "received", nullptr);
    if (!track) return;
    const PerfettoFlows received{{}, messages.received};
    packets_.instant({*track, names_.group(rank_, group), "received", &received}, arrival_of(group, messages), group);
    ++counts_.instants;
    counts_.receives += messages.received.size();
  }

  // Not before the sends began, where looks that are apart, or clocks that are not known better, make it seem so: a
  // viewer takes the earlier end of an arrow for its begin.
  TimePoint arrival_of(const GroupRecord& group, const GroupMessages& messages) {
    const TimePoint ended = rank_.aligned(group.ended);
    TimePoint arrival = ended;
    for (const std::uint64_t message : messages.received) {
      const std::optional<SendBegins::Begin> begin = begins_.find(message);
      if (!begin) continue;
      const TimePoint sent = run_.ranks[begin->rank].aligned(begin->time);
      const bool is_backwards =
          sent >= ended && sent - ended > begin->within + group.ended_within + apart(*begin, group.ended);
      ++(is_backwards ? counts_.backwards : counts_.arrows);
      if (sent >= ended && !is_backwards) arrival = std::max(arrival, sent + Duration(1));
    }
    return arrival;
  }

  // How far the clocks of sender and receiver may be from where they were put. By wall clocks nobody knows.
  Duration apart(const SendBegins::Begin& begin, TimePoint ended) const {
    const TraceClock& sender = run_.ranks[begin.rank].clock;
    return run_.clocks.within(sender.clock, begin.time - sender.offset, rank_.clock.clock, ended - rank_.clock.offset)
        .value_or(Duration{});
  }

  void slice(std::int32_t row, const std::string& row_name, PerfettoEvent event, TimePoint begin, TimePoint end,
             const auto& record) {
    const std::optional<std::size_t> lane = lanes_[row].place(begin, end);
    const std::optional<TrackId> track = lane ? track_of(row, *lane, row_name, nullptr) : std::nullopt;
    if (!track) {
      ++counts_.left_out;
      return;
    }
    event.track = *track;
    packets_.slice(event, rank_.aligned(begin), rank_.aligned(end), record);
    ++counts_.slices;
  }

  void event(TimePoint time, const std::string& name, const auto& record) {
    if (!rank_.segments[segment_].window.contains(time)) return;  // of a record that comes whole
    const std::optional<TrackId> track = track_of(events_row, 0, "events", nullptr);
    if (!track) return;
    packets_.instant({*track, name, "event", nullptr}, rank_.aligned(time), record);
    ++counts_.instants;
  }

  void counter(std::int32_t row, const char* name, const char* unit, TimePoint time, double value) {
    const std::optional<TrackId> track = track_of(row, 0, name, unit);
    if (!track) return;
    packets_.counter(*track, rank_.aligned(time), value);
    ++counts_.counters;
  }

  // Described when it is used first: no row is empty. Nothing: there are too many.
  std::optional<TrackId> track_of(std::int32_t row, std::size_t lane, const std::string& name, const char* unit) {
    const auto known = tracks_.find({row, lane});
    if (known != tracks_.end()) return known->second;
    if (tracks_.size() == most_tracks) return std::nullopt;
    const TrackId track = next_track_++;
    tracks_.emplace(std::pair(row, lane), track);
    packets_.track({track, own_track_, name, row, false, unit});
    return track;
  }

  const ExportedRun& run_;
  const ExportedRank& rank_;
  const EventNames& names_;
  const SendBegins& begins_;
  PerfettoPackets& packets_;
  PerfettoCounts& counts_;
  TrackId own_track_ = 0, next_track_;
  std::size_t segment_ = 0;
  std::map<std::pair<std::int32_t, std::size_t>, TrackId> tracks_;
  std::map<std::int32_t, Lanes> lanes_;
  std::map<std::uint32_t, std::string> jobs_;
};

void write_notes(const ExportedRun& run, PerfettoPackets& packets, PerfettoCounts& counts) {
  packets.begin_sequence(1);
  packets.track({root_track, 0, "training run", 0, true, nullptr});
  if (run.notes.empty()) return;
  packets.track({notes_track, root_track, "notes of weft export", 0, false, nullptr});
  for (const std::string& note : run.notes) packets.instant({notes_track, note, "note", nullptr}, run.begin);
  counts.instants += run.notes.size();
}

}  // namespace

// A packet (field 1) of less than 128 bytes that is nothing but a snapshot of the clocks (field 6).
bool is_begin_of_perfetto(std::string_view begin) {
  return begin.size() >= 4 && begin[0] == '\x0a' && begin[2] == '\x32' && begin[1] == begin[3] + 2;
}

PerfettoCounts export_perfetto(const ExportedRun& run, const EventNames& names, OutputFile& file,
                               ReadProgress* progress) {
  PerfettoCounts counts;
  PerfettoPackets packets(file);
  SendBegins begins;
  begins.read(run, progress);
  counts.arrows_are_sure = !begins.is_sample();
  if (progress != nullptr) progress->begin("writing the Perfetto trace", run.bytes());
  const ExportedRank& first = run.ranks.front();
  packets.clocks(first.aligned(first.header.started), first.header.wall_clock);
  write_notes(run, packets, counts);
  for (std::size_t index = 0; index < run.ranks.size(); ++index) {
    RankWriter writer(run, index, names, begins, packets, counts);
    read_rank(run.ranks[index], writer, progress);
  }
  counts.bytes = file.bytes();
  file.finish();
  return counts;
}

}  // namespace weft
