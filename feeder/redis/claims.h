// Claims that a Redis server keeps; the results of each shard are in a file of its own, in a folder that all hosts
// share (RESULTS.weft/shards/): N.OWNER.K, a new one each time that the shard has another owner.
//
// Two scripts, which run whole or not at all in the server: one claims, one settles. Keys, all with PREFIX:claims:ID:
// in front: todo (a list), leases (until when, a sorted set), owners, files and done (by shard). The times are those of
// the server. Keys that it has lost, by a crash or by whoever deletes them, are made again: files tell how far a shard
// was. See ../claims.h.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "feeder/claims.h"
#include "feeder/redis/client.h"

namespace weft {

class RedisClaims final : public Claims {
 public:
  // `place`: ADDRESS#ID. `folder`: of the files; "": there are none, the claims are all.
  RedisClaims(const std::string& place, std::string folder, std::uint64_t count);
  ~RedisClaims() override;

  std::optional<std::uint64_t> claim(From from) override;
  bool claim_last() override;
  bool renew(std::uint64_t shard) override;
  void give_back(std::uint64_t shard) override;
  bool finish(std::uint64_t shard) override;
  std::string running(std::uint64_t shard) const override;
  std::string done(std::uint64_t shard) override;
  void undo(std::uint64_t shard) override;

 private:
  enum class What : std::uint8_t { any, last, of_owner };
  std::optional<std::uint64_t> claim(What what, const std::string& shard = "", const std::string& owner = "");
  std::optional<std::uint64_t> claim_of_dead();
  RedisReply run(const char* script, std::initializer_list<std::string> more);
  bool settle(const char* action, std::uint64_t shard, const std::string& file);
  bool take(std::uint64_t shard, std::string previous);
  void look_for_files();
  std::string path(const std::string& file) const { return folder_ + "/" + file; }
  std::string key(const char* name) const;

  const std::string id_, folder_, owner_;
  const std::uint64_t count_;
  RedisClient client_;
  std::map<std::uint64_t, std::string> held_;   // their files
  std::map<std::uint64_t, std::string> found_;  // files that were there, of shards of which the server knows none
  std::map<std::uint64_t, std::string> done_;
  std::string repaired_;  // when lost shards came back, as of the latest claim
};

}  // namespace weft
