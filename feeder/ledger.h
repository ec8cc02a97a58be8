// Which records of a file have their results, and which are in work, kept in a folder beside the results that any
// number of processes share, also on several hosts: RESULTS.weft/.
//
//   plan.json     of which job, weights and records these are the results; who does not fit is refused
//   values        the results, each at its place, until all are there
//   marks         one byte for each record: 1 when its result is on the disk
//   todo/N        a shard that nobody works on
//   running/N.O   one that owner O works on; its time is renewed, and who does not renew it loses it
//   done/N        one whose records have all their results
//
// A shard changes its place by rename(), so one claimant wins. Work is done at least once, and a result counts once: a
// mark is set only by who holds the shard at that time and finds it unset. Whoever still writes after having lost its
// shard writes the same bytes to the same place.
//
// Used by the feeder: by one thread at a time. Throws FileError.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "detector/time.h"

namespace weft {

// All that results depend on, as text that is compared: {"job": ..., "records": ...}.
struct LedgerPlan {
  std::string identity;  // one JSON object
  std::uint64_t records = 0;
  std::uint64_t shard = 0;  // records of a shard
};

class Ledger {
 public:
  static constexpr Duration lease = std::chrono::seconds(60);

  // Opens the folder, or makes it. `make_values`: makes the file of the results, at this path. Throws FileError where
  // the folder is of something else; its message names what differs.
  using MakeValues = void (*)(const std::string& path, void* context);
  Ledger(std::string results, const LedgerPlan& plan, MakeValues make_values, void* context);
  ~Ledger();  // gives back what it holds
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  const std::string& values() const { return values_; }
  std::uint64_t shard_records() const { return plan_.shard; }

  // A shard to work on, with the numbers of its records that have no result. Nothing: there is none now. `dead`: only
  // of owners that have certainly ended.
  enum class From : std::uint8_t { anywhere, dead };
  std::optional<std::uint64_t> claim(From from, std::vector<std::uint64_t>& records);
  // Results of these are on the disk. Of shards that were lost nothing is marked.
  void mark(const std::vector<std::uint64_t>& records);
  // All of its records are marked.
  void finish(std::uint64_t shard);
  void give_back(std::uint64_t shard);
  // To be called often enough; false: this one was lost to somebody else.
  bool renew(std::uint64_t shard);
  bool holds(std::uint64_t shard) const { return held_.contains(shard); }

  bool is_complete() const;  // looks
  std::uint64_t count_marked() const;
  // All results are there: they get the user's name, in front of `values` where that is another file. Once; others may
  // have done it.
  void publish(const std::string& values);

  // Of this process, in file names.
  static std::string own_name();
  // Whether the process of that name has certainly ended.
  static bool has_ended(const std::string& owner);

 private:
  void make(MakeValues make_values, void* context);
  void compare_plan() const;
  void open_marks();
  std::string path(const char* place, std::uint64_t shard) const;
  std::string running(std::uint64_t shard, const std::string& owner) const;
  bool take(const std::string& from, std::uint64_t shard);
  std::optional<std::uint64_t> claim_free();
  std::optional<std::uint64_t> claim_stale(From from);
  std::vector<std::uint64_t> unmarked(std::uint64_t shard) const;

  const std::string results_, folder_, values_, owner_;
  const LedgerPlan plan_;
  int marks_ = -1;
  std::vector<std::uint64_t> free_;              // as they were listed last
  std::map<std::uint64_t, std::uint64_t> held_;  // shards, and how many of their records are not marked
};

}  // namespace weft
