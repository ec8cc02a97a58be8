// The start line and the end lines; see the header.
#include "runner/core/report.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "runner/options/confine.h"
#include "runner/options/fillable.h"
#include "trace/formatted.h"
#include "trace/totals.h"
#include "weft/version.h"

namespace weft {
namespace {

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double percent(Duration part, Duration whole) {
  return whole > Duration{} ? 100.0 * seconds(part) / seconds(whole) : 0.0;
}

// Four digits or so, in the unit that suits the length.
std::string length(Duration duration) {
  const double value = seconds(duration);
  if (value >= 1) return formatted("%.2f s", value);
  return value >= 1e-3 ? formatted("%.2f ms", value * 1e3) : formatted("%.1f us", value * 1e6);
}

// "+0.12 % (95 % interval -0.10 to +0.31 %, ...)".
std::string slowdown_text(const SlowdownRecord& slowdown) {
  if (slowdown.control == 0) return "not known, too few iterations without fill to compare with";
  std::string text = formatted(
      "%+.2f %% (95 %% interval %+.2f to %+.2f %%, %u iterations with fill against %u without; budget %.3g %%)",
      100 * slowdown.estimate, 100 * slowdown.low, 100 * slowdown.high, slowdown.filled, slowdown.control,
      100 * slowdown.budget);
  if (slowdown.is_of_something_else()) text += ", which is not the doing of fill work: its price is not known";
  if (slowdown.share < 1)
    text += formatted("; at last %.3g %% of the bubbles might be filled, the longest ones", 100 * slowdown.share);
  return text;
}

// Only where it is known.
std::string watching_text(const WatchingRecord& watching) {
  return formatted(
      "watching costs %+.2f %% (95 %% interval %+.2f to %+.2f %%, %u iterations that were watched against %u dark "
      "ones, "
      "whose time is in no share)",
      100 * watching.estimate, 100 * watching.low, 100 * watching.high, watching.watched, watching.dark);
}

// Why the most bubbles without a slice had none.
std::string unfilled_text(const TraceSummary& summary) {
  constexpr std::array<const char*, unfilled_reasons> reasons{
#define REASON(name, text) text,
#include "trace/unfilled.def"
#undef REASON
  };
  std::uint64_t all = 0;
  for (const std::uint64_t bubbles : summary.unfilled) all += bubbles;
  const auto most = std::max_element(summary.unfilled.begin(), summary.unfilled.end());
  return formatted("nothing was filled in %llu bubbles, in %llu of them because ", number(all), number(*most)) +
         reasons[static_cast<std::size_t>(most - summary.unfilled.begin())];
}

// The part that the first lines leave out. Nothing, where all is start-up, or nobody knows: then they are of all time.
StartupRecord startup_of(const TraceSummary& summary) {
  return summary.iterations > 0 ? summary.startup.value_or(StartupRecord{}) : StartupRecord{};
}

// Less than half of the last digit is not worth a word.
std::string uncertain_text(const TraceSummary& summary, const StartupRecord& startup) {
  const Duration steady = summary.window_end - summary.window_begin - summary.dark - startup.length;
  const double uncertain = percent(summary.uncertain - startup.uncertain, steady);
  const double before = percent(startup.uncertain, startup.length);
  if (uncertain < 0.05 && before < 0.05) return "";
  std::string text = formatted("; uncertain for %.1f %%", uncertain);
  if (before >= 0.05) text += formatted(", and for %.1f %% of start-up", before);
  return text + ": " + std::string(summary.uncertain_reason);
}

std::string idle_text(const TraceHeader& header, const TraceSummary& summary) {
  const Duration window = summary.window_end - summary.window_begin - summary.dark;
  if (!is_measured(header)) return "idle time unknown: " + std::string(header.idle_unknown);
  const StartupRecord startup = startup_of(summary);
  const Duration steady = window - startup.length;
  std::string text = formatted("idle in %llu bubbles for %.1f %% of ", number(summary.bubbles),
                               percent(summary.idle - startup.idle, steady)) +
                     length(steady);
  if (startup.length > Duration{})
    text += formatted(", and for %.1f %% of ", percent(startup.idle, startup.length)) + length(startup.length) +
            " of start-up before";
  else if (summary.startup && summary.iterations == 0 && steady > Duration{})
    text += ", all of it start-up";
  return text + uncertain_text(summary, startup);
}

// "12 units of matmul, 0 of them wrong, and 3 of tune, 1 of them wrong"
std::string units_text(const TraceHeader& header, const TraceSummary& summary) {
  const auto units = [](std::uint64_t done, const std::string& name, std::uint64_t wrong) {
    return formatted("%llu units of %s, %llu of them wrong", number(done), name.c_str(), number(wrong));
  };
  if (summary.jobs.size() == 0) return units(summary.fill_units, header.fill_job.c_str(), summary.fill_units_wrong);
  std::string text;
  for (const JobTotals& job : summary.jobs)
    text +=
        (text.empty() ? "" : ", and ") + units(job.units, name_with_variant(job.name, job.variant), job.units_wrong);
  return text;
}

std::string fill_text(const TraceHeader& header, const TraceSummary& summary) {
  const StartupRecord startup = startup_of(summary);
  const Duration filled = summary.filled - startup.filled;
  const Duration steady = summary.window_end - summary.window_begin - summary.dark - startup.length;
  const Duration idle = summary.idle - startup.idle;
  std::string text = formatted("fill used %.1f %% of the idle time (", percent(filled, idle));
  if (summary.idle_left_out > Duration{})
    text += formatted("%.1f %% outside control iterations; ", percent(filled, idle - summary.idle_left_out));
  text += formatted("%.1f points of all time)", percent(filled, steady + summary.dark));
  if (startup.length > Duration{}) text += " after start-up";
  if (startup.filled > Duration{}) text += formatted(" and %.1f %% before", percent(startup.filled, startup.idle));
  return text + " for " + units_text(header, summary);
}

std::string shell_word(const std::string& text) {
  constexpr const char* harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  if (!text.empty() && text.find_first_not_of(harmless) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// A '*' stays one for the shell: the directories of all ranks.
std::string shell_pattern(std::string_view text) {
  std::string pattern;
  for (;;) {
    const std::size_t star = text.find('*');
    if (const std::string_view part = text.substr(0, star); !part.empty()) pattern += shell_word(std::string(part));
    if (star == std::string_view::npos) return pattern;
    pattern += '*';
    text.remove_prefix(star + 1);
  }
}

std::string with_slash(const std::string& directory) {
  return directory.ends_with('/') ? directory : directory + "/";
}

// "": like those of the training.
const char* of_fill_stream(std::string_view stream) {
  if (stream == name_of(FillStream::green_context)) return ", in a hardware queue of its own (a green context)";
  return stream == name_of(FillStream::above) ? ", in a hardware queue of its own (a higher priority)" : "";
}

const char* of_confinement(std::string_view confinement) {
  if (confinement == name_of(Confinement::green)) return ", confined by a green context";
  return confinement == name_of(Confinement::none) ? ", in kernels of any size that nothing confines" : "";
}

}  // namespace

std::string start_line(const TraceHeader& header, const std::string& traces, const std::string& recordings) {
  std::string does = header.mode == "fill"
                         ? "filling bubbles with " + std::string(header.fill_job) + of_fill_stream(header.fill_stream) +
                               of_confinement(header.fill_confinement)
                         : "observing bubbles";
  if (!is_measured(header))
    does = std::string(header.idle_unknown) + ": bubbles are not measured, idle time is unknown";
  if (!header.caution.empty()) does += "; " + std::string(header.caution);
  return formatted("%s, %s, %d rank%s; ", WEFT_VERSION_STRING, does.c_str(), header.ranks,
                   header.ranks == 1 ? "" : "s") +
         (traces.empty() ? "no trace" : "traces in " + with_slash(traces)) +
         (recordings.empty() ? "" : ", recordings in " + with_slash(recordings));
}

std::vector<std::string> end_lines(const TraceHeader& header, const TraceSummary& summary,
                                   const std::string& directory) {
  const std::string rank = formatted("rank %d: ", header.rank);
  std::vector<std::string> lines;
  if (summary.iterations > 0) {
    lines.push_back(rank + formatted("%llu iterations, median ", number(summary.iterations)) +
                    length(summary.iteration_median));
  } else if (summary.forecasts) {
    lines.push_back(rank +
                    "bubbles were forecast, but what repeats was not long enough the same to count as an iteration");
  } else if (!is_measured(header)) {
    lines.push_back(rank + "no repeating iteration was found");
  } else {
    lines.push_back(rank + "no repeating iteration was found, so no bubble could be forecast");
  }
  lines.push_back(rank + idle_text(header, summary));
  if (summary.slices > 0 || header.mode == "fill") {
    lines.push_back(rank + fill_text(header, summary) + of_fill_stream(summary.fill_stream) +
                    of_confinement(summary.fill_confinement));
  }
  const bool any_unfilled = summary.unfilled != decltype(summary.unfilled){};
  if (summary.fill_units == 0 && any_unfilled) lines.push_back(rank + unfilled_text(summary));
  if (summary.slowdown) lines.push_back(rank + "slowdown " + slowdown_text(*summary.slowdown));
  if (summary.watching) lines.push_back(rank + watching_text(*summary.watching));
  if (summary.filling_stopped) lines.push_back(rank + "filling was stopped: " + std::string(summary.reason));
  lines.push_back(rank + formatted("%llu records dropped", number(summary.dropped_records)));
  if (summary.annotations_held_back > 0)
    lines.push_back(
        rank + formatted("%llu annotations lost, more than there was room for", number(summary.annotations_held_back)));
  lines.push_back(directory.empty() ? rank + "it left no trace"
                                    : "traces of all ranks in " + with_slash(directory) + "   next: weft summary " +
                                          shell_pattern(directory));
  return lines;
}

}  // namespace weft
