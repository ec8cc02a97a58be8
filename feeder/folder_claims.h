// Claims that are kept in a folder which processes share, also on several hosts:
//
//   todo/N        shard N, which nobody works on: its results so far (feeder/shard_file.h), or empty
//   running/N.O   one that owner O works on; its time is renewed, and who does not renew it loses it
//   done/N        one whose records have all their results
//
// A shard changes its place by rename(), so one claimant wins. Whoever has lost a shard and still writes, writes into a
// file that nobody reads any more. See claims.h.
#pragma once

#include <set>
#include <vector>

#include "feeder/claims.h"

namespace weft {

class FolderClaims final : public Claims {
 public:
  // The places of so many shards, in a new folder that nobody sees yet.
  static void make(const std::string& folder, std::uint64_t count);

  FolderClaims(std::string folder, std::uint64_t count);
  ~FolderClaims() override;

  std::optional<std::uint64_t> claim(From from) override;
  bool claim_last() override;
  bool renew(std::uint64_t shard) override;
  void give_back(std::uint64_t shard) override;
  bool finish(std::uint64_t shard) override;
  std::string running(std::uint64_t shard) const override;
  std::string done(std::uint64_t shard) override;
  void undo(std::uint64_t shard) override;

 private:
  bool take(const std::string& from, std::uint64_t shard);
  std::optional<std::uint64_t> claim_free();
  std::optional<std::uint64_t> claim_stale(From from, std::uint64_t first, std::uint64_t last);
  bool all_are_done() const;

  const std::string folder_, owner_;
  const std::uint64_t count_;
  std::vector<std::uint64_t> free_;  // as they were listed last
  std::set<std::uint64_t> held_;
};

}  // namespace weft
