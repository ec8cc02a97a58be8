// Who works on which shard of a file of records: claimed by one, renewed, given back or done. Kept in the folder of the
// results (folder_claims.h) or in Redis (redis/claims.h).
//
// Shards have the numbers 0 to count - 1. The number behind them is no shard: who claims it puts all results together,
// and it can be claimed when everything else is done. Used by the ledger, by one thread at a time. Throws FileError
// where files cannot be used, and NotNow where a server does not answer: then nothing has changed for certain, and it
// may be tried again.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "detector/time.h"

namespace weft {

class NotNow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Claims {
 public:
  static constexpr Duration lease = std::chrono::seconds(60);

  virtual ~Claims() = default;  // gives back what it holds

  // A shard to work on, whose file is running(shard). Nothing: there is none now. `dead`: only of owners that have
  // certainly ended.
  enum class From : std::uint8_t { anywhere, dead };
  virtual std::optional<std::uint64_t> claim(From from) = 0;
  // All shards are done, and this process is to put them together: it holds the last number then.
  virtual bool claim_last() = 0;
  // To be called often enough; false: this one was lost to somebody else.
  virtual bool renew(std::uint64_t shard) = 0;
  virtual void give_back(std::uint64_t shard) = 0;
  // All of its records have results, which are on the disk. False: it was lost.
  virtual bool finish(std::uint64_t shard) = 0;

  virtual std::string running(std::uint64_t shard) const = 0;
  virtual std::string done(std::uint64_t shard) = 0;
  // The file of one that was done is not there, or not whole: it is to be done again.
  virtual void undo(std::uint64_t shard) = 0;
};

}  // namespace weft
