// One RankRows for each rank; see the header. The fields are those that HTA 0.5 and 0.6 need: `stream` on rows of the
// GPU only, from 1 on; a launch with the same `correlation` for each of them; names of NCCL kernels as NCCL has them.
#include "trace/export/kineto.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "trace/export/idle_times.h"
#include "trace/export/kineto_rows.h"
#include "trace/export/lanes.h"
#include "trace/export/output.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

constexpr std::int64_t compute_stream = 1, first_nccl_stream = 2;
constexpr std::int64_t host_thread = 1, fill_thread = 1'000'000;
constexpr std::uint64_t first_correlation = std::uint64_t{1}
                                            << 24;  // readers that keep them in few bits lose small ones
constexpr std::size_t most_streams = 4096;          // of a rank: a trace that was tampered with may name any number

const char* name_of(PartKind kind) {
  switch (kind) {
    case PartKind::uncertain:
      return "uncertain: nobody could tell whether it computed";
    case PartKind::dark:
      return "dark: nobody looked";
    case PartKind::between:
      return "not measured, or not exported";
    default:
      return "outside of bubbles";
  }
}

std::vector<TimeWindow> measured_parts(const ExportedRank& rank) {
  std::vector<TimeWindow> parts;
  for (const ExportedSegment& segment : rank.segments)
    if (!segment.measured.is_empty()) parts.push_back(segment.measured);
  return parts;
}

// Gathers, scatters and exchanges are made of sends and receives in NCCL.
const char* kernel_of(Operation kind) {
  switch (kind) {
    case Operation::all_reduce:
      return "ncclDevKernel_AllReduce";
    case Operation::reduce:
      return "ncclDevKernel_Reduce";
    case Operation::broadcast:
      return "ncclDevKernel_Broadcast";
    case Operation::reduce_scatter:
      return "ncclDevKernel_ReduceScatter";
    case Operation::all_gather:
      return "ncclDevKernel_AllGather";
    default:
      return "ncclDevKernel_SendRecv";
  }
}

// Where the trace has no groups the bubble stands for the one that was waited for.
const char* kernel_of(Cause cause) {
  return cause == Cause::collective ? "ncclDevKernel_Collective" : "ncclDevKernel_SendRecv";
}

// PyTorch's names.
std::string collective_of(const GroupRecord& group) {
  if (group.operations.size() != 1 || group.left_out > 0) return "coalesced";
  switch (const Operation kind = group.operations.begin()->kind) {
    case Operation::all_reduce:
      return "allreduce";
    case Operation::receive:
      return "recv";
    case Operation::all_gather:
      return "allgather";
    default:
      return operation_names[static_cast<std::size_t>(kind)];
  }
}

// nullptr: it waited for something else beside the group.
const char* collective_of(Cause cause) {
  switch (cause) {
    case Cause::send:
      return "send";
    case Cause::receive:
      return "recv";
    case Cause::collective:
      return "collective";
    default:
      return nullptr;
  }
}

// The host had launched nothing more, or launched the next kernel late.
bool waited_for_host(const Bubble& bubble) {
  return bubble.pattern == Pattern::host_wait || bubble.pattern == Pattern::posted_early;
}

class RankRows : public RecordTaker {
 public:
  RankRows(const ExportedRun& run, const ExportedRank& rank, const EventNames& names, KinetoRows& rows,
           KinetoCounts& counts)
      : run_(run),
        rank_(rank),
        names_(names),
        rows_(rows),
        counts_(counts),
        times_(measured_parts(rank), [this](const TimePart& part) { take_part(part); }) {
    const std::string name = names_.rank(rank_);
    rows_.process_name(rank_.process.process, name + ", host", 0);
    rows_.process_name(gpu(), name, 1);
    rows_.thread_name(gpu(), compute_stream, "stream 1: outside of bubbles (computation is not recorded)");
  }

  void header(const TraceHeader&, std::size_t segment) override { segment_ = segment; }
  void take(const Record& record) override {
    visit_kind(record, [this](const auto& what) { take(what); });
  }

  // Readers drop the launches in the last step, which PyTorch's profiler cuts off: so an empty one stands at the end.
  void finish() {
    times_.finish();
    if (last_iteration_ > 0) step(last_iteration_ + 1, iterations_end_, iterations_end_);
    if (times_.lost() > Duration{})
      counts_.notes.push_back(
          "rank " + rank_.name + ": " + std::to_string(times_.lost().count() / 1000) +
          " us of bubbles or uncertain time overlap others or came out of order; each moment counts "
          "for the first of them");
    if (left_out_ > 0)
      counts_.notes.push_back("rank " + rank_.name + ": " + std::to_string(left_out_) +
                              " rows are left out: too many of them overlap, or there are too many communicators");
  }

 private:
  std::int64_t gpu() const { return rank_.header.device; }
  Duration since_base(TimePoint time) const { return rank_.aligned(time) - run_.begin; }

  // Kinds that have no row.
  void take(const JobRecord&) {}
  void take(const MemoryRecord&) {}
  void take(const AnomalyRecord&) {}
  void take(const CommunicatorRecord&) {}
  void take(const ClockRecord&) {}
  void take(const CallFrameRecord&) {}
  void take(const SlowdownRecord&) {}
  void take(const WatchingRecord&) {}
  void take(const LimitRecord&) {}

  void take(const UncertainRecord& uncertain) { times_.add({PartKind::uncertain, uncertain.began, uncertain.ended}); }

  void take(const DarkTime& dark) { times_.add({PartKind::dark, dark.began, dark.ended}); }

  // It stands for its group where the trace has no groups, or none any more.
  void take(const Bubble& bubble) {
    times_.add({PartKind::bubble, bubble.opened, bubble.closed, bubble});
    if (bubble.group == 0 || bubble.opened < rank_.segments[segment_].groups_end) return;
    KinetoArguments arguments{{"waited for", json_text(names_.bubble(rank_, bubble))}};
    if (const char* const name = collective_of(bubble.cause))
      arguments.emplace_back("Collective name", json_text(name));
    nccl_row(kernel_of(bubble.cause), bubble.slot.communicator, bubble.opened, bubble.closed, arguments);
  }

  void take(const GroupRecord& group) {
    if (!group.begun_known || !group.ended_known || group.operations.size() == 0) return;
    KinetoArguments arguments{{"Collective name", json_text(collective_of(group))},
                              {"operations", json_text(names_.group(rank_, group))}};
    const auto known = rank_.communicators.find(group.communicator);
    if (known != rank_.communicators.end()) {
      const CommunicatorRecord& communicator = known->second;
      arguments.emplace_back("Group size", std::to_string(communicator.ranks));
      arguments.emplace_back("Process Group Description", json_text(communicator.name));
      if (group.operations.size() == 1) add_peers(arguments, communicator, *group.operations.begin());
    }
    nccl_row(kernel_of(group.operations.begin()->kind), group.communicator, group.begun, group.ended, arguments);
  }

  void add_peers(KinetoArguments& arguments, const CommunicatorRecord& communicator,
                 const OperationRecord& operation) const {
    if (operation.kind != Operation::send && operation.kind != Operation::receive) return;
    const auto peer = run_.members.member(communicator, operation.peer);
    if (!peer) return;
    const std::string there = std::to_string(run_.traces[*peer].rank), here = std::to_string(rank_.header.rank);
    const bool sends = operation.kind == Operation::send;
    arguments.emplace_back("Src Rank", sends ? here : there);
    arguments.emplace_back("Dst Rank", sends ? there : here);
  }

  // Within the measured time only: readers take the first and the last row for the ends of the run.
  void nccl_row(const char* kernel, CommunicatorId communicator, TimePoint begin, TimePoint end,
                KinetoArguments arguments) {
    const TimeWindow& part = rank_.segments[segment_].measured;
    const TimePoint from = std::max(begin, part.begin), to = std::min(end, part.end);
    if (from >= to) return;
    const std::optional<std::int64_t> stream = stream_of(communicator, from, to);
    if (!stream) {
      ++left_out_;
      return;
    }
    const auto previous = stream_ends_.find(*stream);
    kernel_row(kernel, *stream, from, to, previous == stream_ends_.end() ? from : before(previous->second),
               std::move(arguments));
    stream_ends_[*stream] = to;
  }

  // The time of a launch while a kernel ran that has this end. Readers round times to microseconds.
  static TimePoint before(TimePoint end) { return end - std::chrono::microseconds(2); }

  // A stream for each communicator, and more where its groups overlap. Nothing: there are too many.
  std::optional<std::int64_t> stream_of(CommunicatorId communicator, TimePoint begin, TimePoint end) {
    if (streams_.size() == most_streams && !lanes_.contains(communicator)) return std::nullopt;
    const std::optional<std::size_t> place = lanes_[communicator].place(begin, end);
    if (!place) return std::nullopt;
    const std::size_t lane = *place;
    const auto [stream, is_new] = streams_.emplace(std::pair(communicator, lane), next_stream_);
    if (is_new) {
      ++next_stream_;
      rows_.thread_name(gpu(), stream->second,
                        "stream " + std::to_string(stream->second) + ": " + names_.communicator(rank_, communicator));
    }
    return stream->second;
  }

  // A kernel behind bubbles in which the host was late was launched at its begin, any other one while the kernel
  // before it ran: so readers tell both apart. When it was launched indeed is not recorded.
  void take_part(const TimePart& part) {
    if (part.kind == PartKind::bubble) return take_idle(part);
    const auto previous = stream_ends_.find(compute_stream);
    const bool is_late = late_ > Duration{} || previous == stream_ends_.end();
    kernel_row(name_of(part.kind), compute_stream, part.begin, part.end,
               is_late ? part.begin : before(previous->second), {});
    late_ = {};
    stream_ends_[compute_stream] = part.end;
  }

  // Readers see no time before the first and behind the last row: at the border of a measured part a bubble has one.
  void take_idle(const TimePart& part) {
    constexpr Duration border{1};
    if (part.at_begin) take_part({PartKind::busy, part.begin, part.begin + border});
    late_ += waited_for_host(part.bubble) ? part.end - part.begin : part.begin - part.end;
    if (part.at_end && part.end - part.begin > border) take_part({PartKind::busy, part.end - border, part.end});
  }

  void kernel_row(const char* name, std::int64_t stream, TimePoint begin, TimePoint end, TimePoint launch,
                  KinetoArguments arguments) {
    const std::string correlation = std::to_string(next_correlation_++);
    row({"cuda_runtime", "cudaLaunchKernel", since_base(launch), Duration(1), rank_.process.process, host_thread},
        {{"correlation", correlation}});
    arguments.emplace_back("device", std::to_string(gpu()));
    arguments.emplace_back("stream", std::to_string(stream));
    arguments.emplace_back("correlation", correlation);
    row({"kernel", name, since_base(begin), end - begin, gpu(), stream}, arguments);
  }

  // Without a stream, or readers would count fill work as work of the training.
  void take(const SliceRecord& slice) {
    fill_row("fill job " + std::to_string(slice.job), slice.launched, slice.finished,
             {{"unit", std::to_string(slice.unit)}, {"slice", std::to_string(slice.number)}});
  }

  void take(const MoveRecord& move) {
    fill_row(move.way == MoveWay::to_host ? "fill memory to the host" : "fill memory to the device", move.launched,
             move.finished, {{"bytes", std::to_string(move.bytes)}});
  }

  // One runs and one waits: rows of a thread that overlap without one lying in the other cannot be drawn.
  void fill_row(const std::string& name, TimePoint begin, TimePoint end, const KinetoArguments& arguments) {
    const std::optional<std::size_t> lane = fill_lanes_.place(begin, end);
    if (!lane) {
      ++left_out_;
      return;
    }
    const std::int64_t thread = fill_thread + static_cast<std::int64_t>(*lane);
    if (fill_threads_.insert(thread).second) rows_.thread_name(gpu(), thread, "fill");
    row({"gpu_user_annotation", name, since_base(begin), end - begin, gpu(), thread}, arguments);
  }

  void take(const Iteration& iteration) {
    step(iteration.number, iteration.started, iteration.ended);
    last_iteration_ = std::max(last_iteration_, iteration.number);
    iterations_end_ = std::max(iterations_end_, iteration.ended);
    iterations_end_ = std::max(iterations_end_, rank_.segments[segment_].measured.end);
  }

  void step(std::uint64_t number, TimePoint begin, TimePoint end) {
    row({"user_annotation", "ProfilerStep#" + std::to_string(number), since_base(begin), end - begin,
         rank_.process.process, host_thread},
        {});
  }

  void row(const KinetoRow& row, const KinetoArguments& arguments) {
    rows_.row(row, arguments);
    ++counts_.rows;
  }

  const ExportedRun& run_;
  const ExportedRank& rank_;
  const EventNames& names_;
  KinetoRows& rows_;
  KinetoCounts& counts_;
  IdleTimes times_;
  std::map<CommunicatorId, Lanes> lanes_;
  std::map<std::pair<CommunicatorId, std::size_t>, std::int64_t> streams_;
  std::int64_t next_stream_ = first_nccl_stream;
  std::uint64_t next_correlation_ = first_correlation;
  std::map<std::int64_t, TimePoint> stream_ends_;  // of their latest rows
  Duration late_{};  // since the latest row of computation: time that the host was late, less that of other bubbles
  std::size_t segment_ = 0;
  Lanes fill_lanes_;
  std::set<std::int64_t> fill_threads_;
  std::uint64_t left_out_ = 0;  // rows
  std::uint64_t last_iteration_ = 0;
  TimePoint iterations_end_{};
};

// "rank3.json"; of several traces of one rank with their process and device.
std::string file_name(const ExportedRank& rank, bool is_alone) {
  const std::string name = "rank" + std::to_string(rank.header.rank);
  return is_alone ? name + ".json"
                  : name + "." + std::to_string(rank.process.process) + "." + std::to_string(rank.header.device) + "." +
                        std::to_string(rank.process.start_id) + ".json";
}

KinetoHead head_of(const ExportedRun& run, const ExportedRank& rank) {
  const ExportedRank& first = run.ranks.front();
  KinetoHead head;
  head.rank = rank.header.rank;
  head.ranks = rank.header.ranks;
  head.process = rank.process.process;
  head.device = rank.header.device;
  head.multiprocessors = rank.header.multiprocessors;
  head.host = rank.header.host;
  head.name = "Weft, rank " + rank.name + ": computation is not recorded, it is all time outside of bubbles";
  head.base = (first.header.wall_clock + (run.begin - first.aligned(first.header.started))).count();
  return head;
}

// Of the others nothing is known of when they compute.
std::vector<const ExportedRank*> written_ranks(const ExportedRun& run, KinetoCounts& counts) {
  std::vector<const ExportedRank*> ranks;
  std::vector<std::string> unmeasured, empty;
  for (const ExportedRank& rank : run.ranks)
    if (!is_measured(rank.header))
      unmeasured.push_back(rank.name);
    else if (measured_parts(rank).empty())
      empty.push_back(rank.name);
    else
      ranks.push_back(&rank);
  if (ranks.empty() && empty.empty())
    throw std::runtime_error("bubbles were measured on no rank: there is nothing for --kineto");
  if (ranks.empty())
    throw std::runtime_error(
        "no rank has measured time in this part of the run (before its first group, or behind WEFT_TRACE_LIMIT): there "
        "is nothing for --kineto");
  if (!unmeasured.empty()) counts.notes.push_back(listed_ranks(unmeasured) + ": bubbles were not measured; no file");
  if (!empty.empty())
    counts.notes.push_back(listed_ranks(empty) + ": no measured time in this part of the run; no file");
  return ranks;
}

// Where HTA's shares are others than those of the run, or cannot be right.
void add_notes_on_shares(const std::vector<const ExportedRank*>& ranks, KinetoCounts& counts) {
  std::vector<std::string> limited, lost, parted;
  for (const ExportedRank* rank : ranks) {
    if (rank->limited) limited.push_back(rank->name);
    if (rank->lost_lines) lost.push_back(rank->name);
    if (measured_parts(*rank).size() > 1) parted.push_back(rank->name);
  }
  const auto add = [&](const std::vector<std::string>& names, const char* text) {
    if (!names.empty()) counts.notes.push_back(listed_ranks(names) + text);
  };
  add(limited, ": the rows end where WEFT_TRACE_LIMIT was reached, and shares are of the time before it");
  add(lost, ": records are missing or left out, and bubbles among them count as computation");
  add(parted,
      ": several parts are measured, as the process opened communicators again; the time between them is one row, "
      "which counts as computation, and steps have the same number twice");
}

}  // namespace

KinetoCounts export_kineto(const ExportedRun& run, const EventNames& names, OutputFolder& folder,
                           ReadProgress* progress) {
  KinetoCounts counts;
  const std::vector<const ExportedRank*> ranks = written_ranks(run, counts);
  std::map<std::int64_t, std::size_t> traces;
  for (const ExportedRank* rank : ranks) ++traces[rank->header.rank];
  add_notes_on_shares(ranks, counts);
  if (progress != nullptr) progress->begin("writing PyTorch's format", run.bytes());
  for (const ExportedRank* rank : ranks) {
    OutputFile file(folder / file_name(*rank, traces[rank->header.rank] == 1));
    KinetoRows rows(file, head_of(run, *rank));
    RankRows writer(run, *rank, names, rows, counts);
    read_rank(*rank, writer, progress);
    writer.finish();
    rows.finish();
    counts.bytes += file.bytes();
    ++counts.files;
    file.finish();
  }
  if (traces.size() < ranks.size())
    counts.notes.push_back("several traces have the same rank: HTA takes one file of each rank");
  folder.finish();
  return counts;
}

}  // namespace weft
