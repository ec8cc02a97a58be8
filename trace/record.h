// The contents of a trace, one fixed-size record per line; the kinds are listed in record_kinds.def, their keys in
// record_fields.h. Plain values: a record may be copied by its bytes.
//
// Filled in by the dispatcher thread (and at start and end by main-job threads in the core's services), pushed through
// the trace's ring, formatted by the writer thread; read back by the command. docs/trace.md is the description for
// readers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "detector/bubble.h"
#include "trace/fixed_text.h"
#include "trace/list.h"

namespace weft {

enum class RecordKind : std::uint8_t {
#define RECORD(kind, Type) kind,
#include "trace/record_kinds.def"
#undef RECORD
};
inline constexpr std::array record_kind_names{
#define RECORD(kind, Type) #kind,
#include "trace/record_kinds.def"
#undef RECORD
};

inline constexpr std::size_t most_jobs = 8;  // fill jobs of a device
using JobName = FixedText<63>;

// A finished slice of a fill job.
struct SliceRecord {
  std::uint32_t job = 0;     // see JobRecord
  std::uint64_t unit = 0;    // of the job
  std::uint32_t number = 0;  // of the slice in its unit
  std::uint64_t bubble = 0;  // id of the bubble it was launched in
  TimePoint launched{};
  TimePoint finished{};
  Duration alone{};  // what it takes on the idle GPU
  bool unit_done = false;
  std::int8_t correct = -1;  // with unit_done: 1 right, 0 wrong, -1 not checked
};

enum class MoveWay : std::uint8_t { to_host, to_device };
inline constexpr std::array move_way_names{"to_host", "to_device"};

// A copy of a piece of a fill job's memory, which leaves the device or comes back: see between_bubbles_on_host() in
// weft/fill.h. It is not fill work.
struct MoveRecord {
  std::uint32_t job = 0;  // see JobRecord
  MoveWay way = MoveWay::to_host;
  std::uint64_t bytes = 0;
  std::uint64_t bubble = 0;  // id of the bubble it was launched in; 0: in none, with WEFT_SLACK_COPIES
  TimePoint launched{};
  TimePoint finished{};
  Duration alone{};  // what it takes on the idle GPU
};

// A user's wishes for a fill job.
struct JobTerms {
  std::int32_t priority = 0;
  double weight = 1;        // more than 0
  Duration deadline{};      // since filling began; 0: none
  std::uint64_t units = 0;  // it has done its work after so many of this run; 0: it goes on
};

// `ready`: it can be launched from here on; `refused`: it cannot, and why; `done`: it has done the units that were
// wanted; `failed`: it was ended, and why; `withdrawn`: another variant of it is to be made ready, or it rests without
// its memory, or its queue has it back, and why.
enum class JobEvent : std::uint8_t { ready, refused, done, failed, withdrawn };
inline constexpr std::array job_event_names{"ready", "refused", "done", "failed", "withdrawn"};

// A fill job begins or ends.
struct JobRecord {
  std::uint32_t job = 0;  // in the user's list, from 0
  JobName name;
  JobEvent event = JobEvent::ready;
  RecordText why;            // "": there is nothing to say
  std::uint64_t memory = 0;  // bytes, its part of the reservation
  JobTerms terms{};
  JobName variant;  // the arguments that were chosen for it; "": its user names no variants
  Duration held{};  // `ready`, `refused` while the training ran: for so long it stood for that
};

// Time in which it could not be told whether compute ran: neither idle nor busy, and nothing was filled.
struct UncertainRecord {
  TimePoint began{};
  TimePoint ended{};
  RecordText why;
};

// `left`: what a fill job has marked for it is on the host; `came_back`: it is on the device again.
enum class MemoryEvent : std::uint8_t { reserved, released, rescued, left, came_back };
inline constexpr std::array memory_event_names{"reserved", "released", "rescued", "left", "came_back"};

struct MemoryRecord {
  std::uint64_t cap = 0, reserved = 0, used = 0, device_free = 0, device_total = 0;  // bytes
  MemoryEvent event = MemoryEvent::reserved;
};

// Who says an anomaly on stderr: nobody, as the trace has it; one rank, because all of them see the same; every rank.
enum class Audience : std::uint8_t { trace, one_rank, every_rank };

struct AnomalyRecord {
  RecordText text;  // why; filling is off from here on when `stops_filling`
  bool stops_filling = false;
  Audience audience = Audience::trace;
};

enum class CommunicatorEvent : std::uint8_t { opened, closed };
inline constexpr std::array communicator_event_names{"opened", "closed"};

struct CommunicatorRecord {
  CommunicatorId communicator = 0;
  std::int32_t rank = 0, ranks = 0;
  CommunicatorEvent event = CommunicatorEvent::opened;
  std::uint64_t id = 0;  // equal on all its ranks; 0: not known
  RecordText name{};     // that the program gave it; "": none
};

// In the order of Operation.
inline constexpr std::array operation_names{"send",      "receive",        "all_reduce", "reduce",
                                            "broadcast", "reduce_scatter", "all_gather", "all_to_all",
                                            "gather",    "scatter",        "put",        "wait_signals"};

// One operation of a group. `sequence` as in IssuedOperation.
struct OperationRecord {
  Operation kind = Operation::wait_signals;  // also one that only a newer Weft knows: it is joined with nothing
  std::int32_t peer = -1;
  std::uint64_t bytes = 0, sequence = 0;
};

// A group that is over, or will never be seen to be.
struct GroupRecord {
  GroupId id = 0;
  CommunicatorId communicator = 0;
  std::uint64_t iteration = 0;  // 0: not known
  // On its stream. The true time is not farther away than `..._within`. Not known: no marker was seen there.
  bool begun_known = false, ended_known = false;
  TimePoint begun{}, ended{};
  Duration begun_within{}, ended_within{};
  std::uint32_t left_out = 0;  // operations that there is no room for, or that were lost on the way
  List<OperationRecord, 8> operations;
};

// Both clocks at the same moment: the wall clock was read within `width`, of which `monotonic` is the middle.
struct ClockRecord {
  TimePoint monotonic{};
  Duration wall_clock{};  // since 1970
  Duration width{};
};

// The price of filling for the main job, as far as it is known. Shares: 0.01 is 1 %.
struct SlowdownRecord {
  double estimate = 0, low = 0, high = 0;  // with the 95 % interval
  std::uint32_t control = 0, filled = 0;   // iterations without and with fill that were compared; 0: nothing is known
  double budget = 0;
  double share = 1;             // of the bubbles that may be filled from here on, the longest ones
  std::uint64_t iteration = 0;  // the latest

  // Fill work makes no iteration shorter. Where those with fill seem to be, for sure, the interval is that of something
  // else.
  bool is_of_something_else() const { return control != 0 && high < 0; }
  bool is_known() const { return control != 0 && high >= 0; }
};

// How much Weft looks: as asked for, less, only at the ends of iterations.
enum class WatchingLooks : std::uint8_t { all, fewer, ends };
inline constexpr std::array watching_looks_names{"all", "fewer", "ends"};

// The price of watching for the main job, as far as it is known: of iterations that Weft watched, against dark ones.
struct WatchingRecord {
  double estimate = 0, low = 0, high = 0;  // as in SlowdownRecord
  std::uint32_t dark = 0, watched = 0;     // iterations that were compared; 0: nothing is known
  double budget = 0;
  WatchingLooks looks = WatchingLooks::all;  // from here on
  std::uint64_t iteration = 0;               // the latest
};

enum class FrameKind : std::uint8_t { nvtx, python, native };
inline constexpr std::array frame_kind_names{"nvtx", "python", "native"};

// One frame of the stack of the call that issued a group, or the innermost NVTX range there. A slot has one call
// site, that of one of its groups.
struct CallFrameRecord {
  std::uint64_t rhythm = 0;  // with `ordinal`: the slot, as its bubbles have it
  std::int32_t ordinal = -1;
  GroupId group = 0;
  FrameKind kind = FrameKind::native;
  std::uint32_t number = 0;  // of its kind, from the innermost one, which is 0
  FixedText<127> function;   // "": not known. Of NVTX the text
  FixedText<191> file;       // of Python as the interpreter has it, else the name of the library; the end of a long one
  std::uint32_t line = 0;    // in a file of Python
  std::uint64_t offset = 0;  // in a library
};

// From here on the file has only the lines that tell how the run ends.
struct LimitRecord {
  std::uint64_t bytes = 0;  // WEFT_TRACE_LIMIT
};

struct Record {
  RecordKind kind{};
  std::int32_t device = 0;
  TimePoint time{};
  union {
#define RECORD(kind, Type) Type kind;
#include "trace/record_kinds.def"
#undef RECORD
  };
  Record() : anomaly{} {}
  // The type of its contents gives its kind.
#define RECORD(name, Type) \
  Record(std::int32_t d, TimePoint t, const Type& what) : kind(RecordKind::name), device(d), time(t), name(what) {}
#include "trace/record_kinds.def"
#undef RECORD
};
static_assert(std::is_trivially_copyable_v<Record>);

// Why no slice was launched in a bubble although there is a fill job; see unfilled.def.
enum class Unfilled : std::uint8_t {
#define REASON(name, text) name,
#include "trace/unfilled.def"
#undef REASON
};
inline constexpr std::array unfilled_names{
#define REASON(name, text) #name,
#include "trace/unfilled.def"
#undef REASON
};
inline constexpr std::size_t unfilled_reasons = unfilled_names.size();

// First line of every file. The writer fills in what has to do with the process.
struct TraceHeader {
  std::int32_t version = 0;  // of the format; by the writer
  RecordText weft;           // its version; by the writer
  std::int32_t rank = 0, ranks = 0, device = 0;
  bool device_in_name = false;  // of the file: another device of the process may have the same rank. Not in the line
  RecordText mode;              // "observe" or "fill"
  RecordText fill_job;          // its name, or ""
  RecordText fill_stream;       // where its work runs, as far as it was known: see docs/trace.md
  RecordText fill_confinement;  // what keeps it off the multiprocessors of NCCL, likewise; of several jobs the weakest
  // Why nothing was enqueued on the training's streams, so that no bubble could be seen; "": they are measured.
  RecordText idle_unknown;
  // Why some time may be uncertain or wrong, as it is known at the start: see docs/trace.md; "": nothing is.
  RecordText caution;
  std::int32_t nccl_version = 0, driver_version = 0;
  std::uint32_t multiprocessors = 0;
  RecordText host;            // by the writer
  std::int64_t process = 0;   // by the writer
  std::int64_t start_id = 0;  // by the writer: with `process` and `host` unlike that of every other process
  TimePoint started{};
  Duration wall_clock{};  // since 1970, at the time `started`; by the writer
  RecordText boot;  // the kernel's id of this boot: equal where clocks are the same; "": unreadable. By the writer
  bool clock_offset_known = false;
  Duration clock_offset{};  // that the time namespace adds to the kernel's CLOCK_MONOTONIC; by the writer
};
static_assert(std::is_trivially_copyable_v<TraceHeader>);

inline bool is_measured(const TraceHeader& header) {
  return header.idle_unknown.empty();
}

// The part of a run before its first iteration began. A slice counts for it by where it ran.
struct StartupRecord {
  Duration length{};       // from the first group
  bool idle_known = true;  // false: bubbles were not measured; by the writer
  Duration idle{}, uncertain{}, filled{};
};

inline constexpr std::string_view several_variants = "differs";
inline constexpr std::size_t most_job_totals = 32;  // the last is that of all further ones then
inline constexpr std::string_view further_jobs = "further jobs";

// Of one fill job.
struct JobTotals {
  std::uint32_t job = 0;  // as in its record; of `further_jobs`: that of the latest
  JobName name;
  JobName variant;  // the latest; of several ranks with different ones: several_variants
  std::uint64_t slices = 0, units = 0, units_wrong = 0;
  Duration filled{};
  Duration held{};  // for which the training stood, see its records
};

// Last line, when the process got so far. Totals of this rank, of what the trace has no room for as well; the window is
// from the first group to the last one's end.
struct TraceSummary {
  std::int32_t rank = 0, device = 0;  // as in the header; by the writer
  TimePoint window_begin{}, window_end{};
  std::uint64_t iterations = 0;
  std::uint64_t bubbles = 0;
  bool forecasts = false;    // any bubble had one. Not in the line
  Duration idle{};           // sum of the bubbles
  Duration uncertain{};      // sum of the time in which nobody could tell whether compute ran
  Duration dark{};           // in which nobody looked, to see what watching costs: in no share
  bool idle_known = true;    // false: bubbles were not measured, see the header; by the writer
  Duration filled{};         // sum of `alone` over the slices that finished
  Duration idle_left_out{};  // sum of the bubbles in iterations that go without fill, for comparison
  Duration iteration_median{};
  Duration end_uncertainty{};  // by which the end of a bubble may be wrong: half the time between two looks, the median
  Duration cpu{};              // time that the thread of this device has used; zero: not known
  Duration spun{};             // of it, looking without sleep near the ends of bubbles that were filled
  std::uint64_t slices = 0, fill_units = 0, fill_units_wrong = 0;
  Duration moved{};  // sum of `alone` over the copies of fill memory to the host and back: in no share
  std::array<std::uint64_t, unfilled_reasons> unfilled{};  // bubbles, by Unfilled
  std::uint64_t dropped_records = 0;                       // lost in any ring, events and trace together
  std::uint64_t records_left_out = 0;                      // behind the limit of the file; the writer counts them
  std::uint64_t groups_thinned_out = 0;                    // that became no record: there were too many
  std::optional<SlowdownRecord> slowdown;                  // nothing: filling had no budget
  std::optional<WatchingRecord> watching;                  // nothing: no iteration was dark
  bool filling_stopped = false;
  RecordText reason;                        // why, when filling_stopped
  RecordText fill_stream;                   // as in the header, by the end of the run
  RecordText fill_confinement;              // likewise
  RecordText uncertain_reason;              // why nobody could tell, see uncertain_causes.h; "": none
  std::uint64_t annotations_refused = 0;    // that contradicted others, or named a device that cannot be
  std::uint64_t annotations_held_back = 0;  // there was no room for them beside the job's own events
  List<JobTotals, most_job_totals> jobs;    // those that were ready once; of a queue several may have one number
  // All of the run where there are no iterations. The other numbers are of the whole window. Nothing: not known.
  std::optional<StartupRecord> startup;
};
static_assert(std::is_trivially_copyable_v<TraceSummary>);

}  // namespace weft
