// Which traces of one or several directories make the newest run: the processes that ran at the same time as the one
// that was started last, and those of its other ranks.
//
// Used by the summary, never inside the training process.
#pragma once

#include <string>
#include <vector>

#include "trace/read/file_totals.h"

namespace weft {

// A file that is named twice, or of which there is a copy, counts once. Sorted by rank, process and device; each with
// the name by which people tell it from the others. `notes`, empty at first: what is left out, and ranks that several
// processes took. Throws std::runtime_error where nothing can be used. `progress` may be nullptr.
std::vector<FileTotals> newest_run(const std::vector<std::string>& directories, std::vector<std::string>& notes,
                                   ReadProgress* progress = nullptr);

// How one trace is damaged, whatever it is read for: it breaks off, lines cannot be read or are missing.
void add_damage_notes(const FileTotals& file, std::vector<std::string>& notes);

// As summarize_directories(), of a run that was found; its notes are taken over.
RunSummary summarize(const std::vector<FileTotals>& files, const std::vector<std::string>& notes);

}  // namespace weft
