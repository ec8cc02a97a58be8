// Which parts of a file of records have their results, and which are in work, kept in a folder beside the results that
// any number of processes share, also on several hosts: RESULTS.weft/.
//
//   plan.json     of which job, weights and records these are the results; who does not fit is refused
//   todo/N        shard N, which nobody works on: its results so far (feeder/shard_file.h), or empty
//   running/N.O   one that owner O works on; its time is renewed, and who does not renew it loses it
//   done/N        one whose records have all their results
//   published     all results are in the user's file
//
// A shard changes its place by rename(), so one claimant wins. The last number is no shard: who claims it puts all
// results together, and it can be claimed when everything else is done. Whoever has lost a shard and still writes,
// writes into a file that nobody reads any more.
//
// Used by the feeder, by one thread at a time. Throws FileError.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "detector/time.h"

namespace weft {

// All that results depend on, as text that is compared: {"job": ..., "input": ...}.
struct LedgerPlan {
  std::string identity;  // one JSON object
  std::uint64_t records = 0;
  std::uint64_t shard = 0;  // records of a shard
};

class Ledger {
 public:
  static constexpr Duration lease = std::chrono::seconds(60);

  // Whether somebody has begun with these results: their plan has been looked at as a whole then.
  static bool exists(const std::string& results);
  // Whether all of these results are in their file.
  static bool has_all(const std::string& results);
  // Opens the folder, or makes it. Throws FileError where it is of something else; its message names what differs.
  Ledger(std::string results, const LedgerPlan& plan);
  ~Ledger();  // gives back what it holds
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  std::uint64_t shards() const { return (plan_.records + plan_.shard - 1) / plan_.shard; }
  std::uint64_t shard_of(std::uint64_t record) const { return record / plan_.shard; }
  std::uint64_t first_of(std::uint64_t shard) const { return shard * plan_.shard; }
  std::uint64_t records_of(std::uint64_t shard) const;

  // A shard to work on, whose file is running(shard). Nothing: there is none now. `dead`: only of owners that have
  // certainly ended.
  enum class From : std::uint8_t { anywhere, dead };
  std::optional<std::uint64_t> claim(From from);
  // All shards are done, and this process is to put them together: shards() is held then.
  bool claim_last();
  // To be called often enough; false: this one was lost to somebody else.
  bool renew(std::uint64_t shard);
  void give_back(std::uint64_t shard);
  // All of its records have results, which are on the disk. False: it was lost.
  bool finish(std::uint64_t shard);

  std::string running(std::uint64_t shard) const;
  std::string done(std::uint64_t shard) const;
  std::string fresh() const;  // for the file of all results, by this process
  // That file becomes the user's, unless there is one. Of the shards nothing is kept then.
  void publish();
  // Throws where the user has taken away what was published.
  bool is_published() const;

 private:
  void make_unless_there() const;
  void remove_left(const std::string& folder, const std::string& begin) const;
  void make(const std::string& folder) const;
  void compare_plan() const;
  bool take(const std::string& from, std::uint64_t shard);
  std::optional<std::uint64_t> claim_free();
  std::optional<std::uint64_t> claim_stale(From from, std::uint64_t first, std::uint64_t last);
  bool all_are_done() const;

  const std::string results_, folder_, owner_;
  const LedgerPlan plan_;
  std::vector<std::uint64_t> free_;  // as they were listed last
  std::set<std::uint64_t> held_;
};

}  // namespace weft
