// How far the results of a file of records have got, for whoever looks from outside: `weft jobs`.
//
// Reads the ledger (ledger.h) and takes nothing; what changes meanwhile is counted or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

struct LedgerProgress {
  std::uint64_t records = 0, done = 0;
  bool is_published = false;  // all results are in the user's file
};

// Nothing: nobody has begun.
std::optional<LedgerProgress> progress_of(const std::string& results);

}  // namespace weft
