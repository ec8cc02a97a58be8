// Which parts of a file of records have their results, and which are in work, kept in a folder beside the results that
// any number of processes share, also on several hosts: RESULTS.weft/, also where the results are a folder themselves.
//
//   plan.json               of which job, weights and records these are the results; who does not fit is refused
//   todo/ running/ done/    the shards, each with its results so far: see folder_claims.h
//   shards/                 likewise, where Redis says who has them: see redis/claims.h
//   published               all results are in the user's file
//
// Used by the feeder, by one thread at a time. Throws FileError, and NotNow as claims.h says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "feeder/claims.h"

namespace weft {

// All that results depend on, as text that is compared: {"job": ..., "input": ...}.
struct LedgerPlan {
  std::string identity;  // one JSON object
  std::uint64_t records = 0;
  std::uint64_t shard = 0;  // records of a shard
  std::string claims{};     // of its shards: "": in the folder; else in Redis, see redis/claims.h
};

class Ledger {
 public:
  // Whether somebody has begun with these results: their plan has been looked at as a whole then.
  static bool exists(const std::string& results);
  // Whether all of these results are in their file.
  static bool has_all(const std::string& results);
  // Their folder, and the results where they are there: all to be taken away before they can be computed anew.
  static std::string all_of(const std::string& results);
  // Opens the folder, or makes it. Throws FileError where it is of something else; its message names what differs.
  Ledger(const std::string& results, const LedgerPlan& plan);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  std::uint64_t shards() const { return (plan_.records + plan_.shard - 1) / plan_.shard; }
  std::uint64_t shard_of(std::uint64_t record) const { return record / plan_.shard; }
  std::uint64_t first_of(std::uint64_t shard) const { return shard * plan_.shard; }
  std::uint64_t records_of(std::uint64_t shard) const;

  // Of its shards.
  Claims& claims() { return *claims_; }
  std::string fresh() const;  // for the file or folder of all results, by this process
  // That file becomes the user's, unless there is one. Of the shards nothing is kept then.
  void publish();
  // Throws where the user has taken away what was published.
  bool is_published() const;

 private:
  bool put(const std::string& all) const;
  void make_unless_there() const;
  void check_replaceable() const;
  void remove_left(const std::string& folder, const std::string& begin) const;
  void make(const std::string& folder) const;
  std::string compare_plan() const;  // when the folder was made, in a way

  const std::string results_;
  const bool is_folder_;
  const std::string folder_, owner_;
  const LedgerPlan plan_;
  std::unique_ptr<Claims> claims_;
};

}  // namespace weft
