// As `weft summary` says it, in words of an export; see the header.
#include "trace/export/run_notes.h"

#include <algorithm>

#include "trace/read/printable.h"
#include "trace/read/runs.h"
#include "trace/read/summary.h"

namespace weft {
namespace {

std::string text_of(std::int64_t first, std::int64_t last) {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

}  // namespace

RunNotes::Shared& RunNotes::entry(std::vector<Shared>& notes, const std::string& text) {
  const auto known = std::ranges::find(notes, text, &Shared::text);
  return known == notes.end() ? notes.emplace_back(Shared{text, {}, 0}) : *known;
}

void RunNotes::add_shared(const std::string& rank, const std::string& text) {
  entry(shared_, text).ranks.push_back(rank);
}

void RunNotes::add_counted(const std::string& rank, std::uint64_t count, const std::string& text) {
  if (count == 0) return;
  Shared& note = entry(counted_, text);
  note.ranks.push_back(rank);
  note.count += count;
}

void RunNotes::add_file(const FileTotals& file) {
  const std::string& name = file.rank.name;
  const TraceSummary& totals = file.rank.totals;
  if (!file.rank.complete)
    add_shared(name,
               "no summary was written (still running, killed, out of disk space, or ended without destroying its "
               "communicators)");
  if (file.limited)
    add_shared(name, "the trace has reached WEFT_TRACE_LIMIT: most of what came later is not there");
  else
    add_counted(name, totals.records_left_out,
                "records are not there, as groups end at half of WEFT_TRACE_LIMIT: later ones and their arrows are "
                "missing");
  if (totals.filling_stopped) add_shared(name, "filling was stopped: " + printable(totals.reason));
  add_counted(name, totals.dropped_records, "records were dropped");
  add_counted(name, totals.groups_thinned_out,
              "groups have no record, because their communicators had too many: they and their arrows are missing");
  add_counted(name, file.segments_of_others, "parts of earlier processes in the same file are left out");
  if (file.doubts.count() > 0)
    of_ranks_.push_back("rank " + name + ": its trace holds something that cannot be true; such lines are left out: " +
                        file.doubts.text(file.path));
  add_damage_notes(file, of_ranks_);
  add_trust_notes(file.rank, of_ranks_);
}

std::vector<std::string> RunNotes::all() const {
  std::vector<std::string> notes = of_run_;
  for (const Shared& note : shared_) notes.push_back(listed_ranks(note.ranks) + ": " + note.text);
  for (const Shared& note : counted_)
    notes.push_back(listed_ranks(note.ranks) + ": " + std::to_string(note.count) + " " + note.text);
  notes.insert(notes.end(), of_ranks_.begin(), of_ranks_.end());
  return notes;
}

std::string missing_of(const std::vector<NumberRange>& wanted, const std::vector<std::int64_t>& there) {
  constexpr std::size_t most = 400;  // letters
  std::string text;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    if (first <= last && text.size() < most) text += (text.empty() ? "" : ", ") + text_of(first, last);
  };
  for (const NumberRange& range : wanted) {
    std::int64_t next = range.first;
    for (auto rank = std::ranges::lower_bound(there, range.first); rank != there.end() && *rank <= range.last; ++rank) {
      add(next, *rank - 1);
      next = *rank + 1;
    }
    add(next, range.last);
  }
  return text;
}

}  // namespace weft
