// See the header.
#include "trace/compare/comparison_notes.h"

#include <algorithm>
#include <tuple>

#include "trace/formatted.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

// One line where a value of the headers differs: "Weft 0.9 and 1.0: what counts as idle may differ".
template <class Value>
void note_other(std::vector<std::string>& notes, const ComparedRun& first, const ComparedRun& second, const char* what,
                Value value, const std::string& consequence) {
  std::set<std::string> values[2];
  for (const RankSummary& rank : first.summary.ranks) values[0].insert(value(rank.header));
  for (const RankSummary& rank : second.summary.ranks) values[1].insert(value(rank.header));
  if (values[0] == values[1]) return;
  std::string text = std::string("other ") + what + ": ";
  for (const auto& side : values) {
    text += &side == &values[0] ? "A has " : ", B has ";
    for (const std::string& each : side) text += (each == *side.begin() ? "" : " and ") + each;
  }
  notes.push_back(text + "; " + consequence);
}

void note_drift(std::vector<std::string>& notes, const char* name, const IterationNumbers& numbers) {
  if (!numbers.drift) return;
  notes.push_back(
      formatted("%s drifts: at its end an iteration takes %+.1f %% longer than at its begin (95 %% interval %+.1f to ",
                name, 100 * numbers.drift->value, 100 * numbers.drift->low) +
      formatted("%+.1f %%); the interval of the change is wider for that", 100 * numbers.drift->high));
}

}  // namespace

std::optional<std::map<std::int64_t, std::size_t>> rank_numbers(const RunSummary& run) {
  std::map<std::int64_t, std::size_t> numbers;
  for (std::size_t index = 0; index < run.ranks.size(); ++index)
    if (!numbers.emplace(run.ranks[index].header.rank, index).second) return std::nullopt;
  return numbers;
}

PipelineShape shape_of(const RunSummary& run) {
  PipelineShape shape;
  for (const RankSummary& rank : run.ranks)
    if (rank.stage) shape.emplace(rank.stage->stages, rank.stage->chunks);
  return shape;
}

std::string text_of(const PipelineShape& shape) {
  if (shape.empty()) return "no pipeline that is known";
  std::string text;
  for (const auto& [stages, chunks] : shape)
    text +=
        (text.empty() ? "" : " and ") + formatted("%d stages of %d chunk%s", stages, chunks, chunks == 1 ? "" : "s");
  return text;
}

void note_headers(std::vector<std::string>& notes, const ComparedRun& first, const ComparedRun& second) {
  const auto other = [&](const char* what, auto value, const char* consequence) {
    note_other(notes, first, second, what, value, consequence);
  };
  other(
      "version of Weft", [](const TraceHeader& header) { return printable(header.weft); },
      "what counts as idle may differ");
  other(
      "mode",
      [](const TraceHeader& header) {
        return header.fill_job.empty() ? printable(header.mode) : "filled with " + printable(header.fill_job);
      },
      "the difference has the price of filling and of watching in it");
  other(
      "NCCL", [](const TraceHeader& header) { return std::to_string(header.nccl_version); }, "it is not Weft's doing");
  other(
      "driver", [](const TraceHeader& header) { return std::to_string(header.driver_version); },
      "it is not Weft's doing");
  other(
      "GPU (multiprocessors)", [](const TraceHeader& header) { return std::to_string(header.multiprocessors); },
      "lengths are those of another machine");
}

void note_sample(std::vector<std::string>& notes, const char* name, const ComparedRun& run) {
  if (run.all.every > 1)
    notes.push_back(formatted("%s has more than %zu iterations: 1 of %llu was compared", name,
                              IterationTable::most_iterations, static_cast<unsigned long long>(run.all.every)));
  if (run.all.held_by_two > most_held_by_two)
    notes.push_back(formatted("%s: two iterations take %.1f %% of all the time more than usual ones: ", name,
                              100 * run.all.held_by_two) +
                    "how shares of the time differ is unknown");
}

void note_iterations(std::vector<std::string>& notes, const char* name, const ComparedRun& run) {
  if (run.all.iterations < fewest_values)
    notes.push_back(formatted("%s has %zu iteration%s: %zu are needed for an interval", name, run.all.iterations,
                              run.all.iterations == 1 ? "" : "s", fewest_values));
  if (!run.all.idle) notes.push_back(std::string(name) + ": idle time was not measured");
  note_drift(notes, name, run.all);
}

bool note_other_groups(std::vector<std::string>& notes, const ComparedRun& first, const ComparedRun& second) {
  const auto before = rank_numbers(first.summary), after = rank_numbers(second.summary);
  if (!before || !after) return false;
  for (const auto& [rank, index] : *before) {
    const auto found = after->find(rank);
    if (found == after->end() || first.groups[index] == second.groups[found->second]) continue;
    if (first.ranks[index].iterations == 0 || second.ranks[found->second].iterations == 0) continue;
    notes.push_back(formatted("other work in an iteration: rank %lld has %u groups in most of A's, %u in most of B's; ",
                              static_cast<long long>(rank), first.groups[index], second.groups[found->second]) +
                    "the times are not of the same thing");
    return true;
  }
  return false;
}

}  // namespace weft
