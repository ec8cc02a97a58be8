// The notes of an export, in the order in which they matter: of the run, of all ranks that share one, of single ranks.
//
// Used by exported_run.cpp, in the weft command only. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/export/exported_run.h"

namespace weft {

class RunNotes {
 public:
  void add(std::string note) { of_run_.push_back(std::move(note)); }
  void add(const std::vector<std::string>& notes) { of_run_.insert(of_run_.end(), notes.begin(), notes.end()); }
  // A run may have thousands of ranks: of those with the same text there is one note.
  void add_shared(const std::string& rank, const std::string& text);
  // Likewise, with the sum of their counts, if that is not 0.
  void add_counted(const std::string& rank, std::uint64_t count, const std::string& text);
  // All that is to be said of a trace that is exported.
  void add_file(const FileTotals& file);
  std::vector<std::string> all() const;

 private:
  struct Shared {
    std::string text;
    std::vector<std::string> ranks;
    std::uint64_t count = 0;
  };
  static Shared& entry(std::vector<Shared>& notes, const std::string& text);

  std::vector<std::string> of_run_, of_ranks_;
  std::vector<Shared> shared_, counted_;
};

// "4-20, 23": of the wanted ranks those that are not there; "": none is missing. `there` is in order.
std::string missing_of(const std::vector<NumberRange>& wanted, const std::vector<std::int64_t>& there);

}  // namespace weft
