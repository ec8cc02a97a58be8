// See the header.
#include "trace/validate/trust.h"

#include <algorithm>
#include <system_error>

#include "trace/formatted.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

constexpr double most_missing = 0.001;  // of the records: the last kernels of a run may have no time stamps yet
constexpr std::int64_t most_clock_uncertainty = 100'000;  // ns
constexpr std::int64_t longest_silence = 100'000'000;     // ns from CUPTI's last record to the end of the window

const char* why_records_end(const TruthFile& truth) {
  if (truth.unwritten > 0) return "the truth file has reached WEFT_TRACE_LIMIT, or its disk is full";
  if (truth.dropped + truth.unreadable > 0) return "records were lost";
  if (!truth.off.empty()) return "a later part of the run was not recorded";
  if (!truth.ended) return "the truth file ends early";
  return "another profiler may have taken CUPTI";
}

}  // namespace

void doubt_what_is_missing(const TruthFile& truth, const ReportedTrace& trace, RankValidation& rank) {
  const double missing = truth.missing(), records = static_cast<double>(truth.records);
  if (missing > most_missing * records)
    rank.doubts.push_back(formatted("%.2g %% of CUPTI's records are missing (bound: %.3g %%)",
                                    100 * missing / std::max(missing + records, 1.0), 100 * most_missing));
  if (truth.read_error != 0)
    rank.doubts.push_back("the truth file cannot be read to its end: " +
                          std::generic_category().message(truth.read_error));
  if (!truth.clocks_rise) rank.doubts.push_back("one of the two clocks was set back");
  if (truth.clock_uncertainty > most_clock_uncertainty)
    rank.doubts.push_back(formatted("times may be wrong by %.1f us (bound: %.0f us)",
                                    static_cast<double>(truth.clock_uncertainty) / 1e3,
                                    static_cast<double>(most_clock_uncertainty) / 1e3));
  if (trace.dropped != 0)
    rank.doubts.push_back(formatted("the trace lacks %llu records that Weft dropped", number(trace.dropped)));
  if (trace.empty_windows != 0)
    rank.doubts.push_back("a part of the trace has no window: Weft saw no NCCL group there");
}

void note_what_is_missing(const TruthFile& truth, const ReportedTrace& trace, RankValidation& rank) {
  const auto note = [&](std::uint64_t number_of, const char* what) {
    if (number_of > 0) rank.notes.push_back(formatted("%llu %s: the truth is partial", number(number_of), what));
  };
  note(truth.dropped, "records were dropped by CUPTI");
  note(truth.untimed, "records have no time stamps");
  note(truth.unreadable, "records are in buffers that could not be read to their end");
  note(truth.unwritten, "records were not written (WEFT_TRACE_LIMIT, a full disk)");
  note(truth.bad_lines, "lines of the truth file say nothing");
  if (!truth.off.empty()) rank.notes.push_back("in a part of the run nothing was recorded: " + printable(truth.off));
  if (truth.torn) rank.notes.push_back("the last line of the truth file breaks off");
  if (!truth.ended) rank.notes.push_back("the truth file has no end line: the process was killed, or still runs");
  if (!trace.ended) rank.notes.push_back("the trace has no summary: its window ends with the last bubble");
  if (trace.limited) rank.notes.push_back("the trace has reached WEFT_TRACE_LIMIT: later bubbles count as missed");
}

Span known_to_the_last_record(const TruthFile& truth, const DeviceTruth& device, const Reported& reported,
                              RankValidation& rank) {
  Span known = truth.known;
  const Spans windows = united(reported.windows);
  if (windows.empty() || device.communication.empty()) return known;
  const std::int64_t end = windows.back().end, last = device.communication.back().end;
  if (end - last <= longest_silence) return known;
  rank.notes.push_back(
      formatted("no NCCL kernel was recorded in the last %.1f s: %s; only what came before is compared",
                static_cast<double>(end - last) / 1e9, why_records_end(truth)));
  known.end = std::min(known.end, last);
  return known;
}

std::string why_nothing(const TruthFile& truth, int device) {
  const auto found = truth.devices.find(device);
  const bool empty =
      found == truth.devices.end() || (found->second.communication.empty() && found->second.compute.empty());
  if (empty && !truth.off.empty()) return printable(truth.off);
  if (empty && !truth.ended)
    return "the process was killed, or still runs, and none of CUPTI's records had been written by then";
  if (found == truth.devices.end()) return "the truth file does not know its device";
  if (empty) return "CUPTI has recorded nothing";
  if (found->second.communication.empty())
    return "CUPTI has recorded no kernel of NCCL: its kernels have other names, or none ran";
  return truth.clocks ? "" : "CUPTI's clock could not be read: the times of its records mean nothing";
}

}  // namespace weft
