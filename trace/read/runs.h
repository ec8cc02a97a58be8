// Which traces of one or several directories make the newest run: the processes that ran at the same time as the one
// that was started last, and those of its other ranks.
//
// Used by the summary, never inside the training process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trace/read/file_totals.h"

namespace weft {

class SlotPlaces;

// Who takes the lines of a file beside its totals; nullptr: nobody. Called on several threads.
using AlsoReads = std::function<TraceSink*(const std::string& path)>;

// All files there that have the name of a trace, each once. Throws std::runtime_error where a directory cannot be read.
std::vector<std::string> traces_in(const std::vector<std::string>& directories);

// A file that is named twice, or of which there is a copy, counts once. Sorted by rank, process and device; each with
// the name by which people tell it from the others. `notes`, empty at first: what is left out, and ranks that several
// processes took. Throws std::runtime_error where nothing can be used. `progress` may be nullptr.
// Several files are read at a time.
std::vector<FileTotals> newest_run(const std::vector<std::string>& directories, std::vector<std::string>& notes,
                                   ReadProgress* progress = nullptr, const AlsoReads& also = {});

// Of traces that have been read already the same choice, by their process, begin, end, and in `rank` header,
// completeness and doubts. At least one; each has a header.
std::vector<FileTotals> newest_run_of(std::vector<FileTotals> files, std::vector<std::string>& notes);

// How one trace is damaged, whatever it is read for: it breaks off, lines cannot be read or are missing.
void add_damage_notes(const FileTotals& file, std::vector<std::string>& notes);

// How far the numbers of one rank can be trusted: late looks, uncertain time.
void add_trust_notes(const RankSummary& rank, std::vector<std::string>& notes);

// Ranks that left no trace, that have other settings, or whose numbers need a caution: to run.notes.
void add_notes_on_ranks(RunSummary& run);

// Where ranks disagree about groups, or these were not looked at.
void add_group_notes(const GroupJoin& groups, std::vector<std::string>& notes);

// As summarize_directories(), of a run that was found; its notes are taken over.
RunSummary summarize(const std::vector<FileTotals>& files, const std::vector<std::string>& notes);

// The same, with what its names come from. They are those of its ranks, in their order.
struct NamedRun {
  NamedRun();
  NamedRun(NamedRun&&) noexcept;
  NamedRun& operator=(NamedRun&&) noexcept;
  ~NamedRun();

  RunSummary summary;
  std::vector<std::unique_ptr<SlotPlaces>> places;
  std::unique_ptr<RunNames> names;
};
NamedRun summarize_with_names(const std::vector<FileTotals>& files, const std::vector<std::string>& notes,
                              ReadProgress* progress = nullptr);

}  // namespace weft
