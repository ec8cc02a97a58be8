// See claims.h.
#include "feeder/redis/claims.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include "feeder/files/folder.h"
#include "feeder/files/open_file.h"
#include "feeder/files/written_file.h"
#include "feeder/owner.h"
#include "feeder/shard_file.h"

namespace weft {
namespace {

// KEYS todo, leases, owners, files, done, repairs; ARGV owner, count, lease in milliseconds, what, shard, its owner.
// Gives shard, its file or "", and when shards were lost last and came back. A number that is in no place is lost.
constexpr const char* claim_script = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local count = tonumber(ARGV[2])
local function lease(shard)
  redis.call('ZADD', KEYS[2], now + tonumber(ARGV[3]), shard)
  redis.call('HSET', KEYS[3], shard, ARGV[1])
  return {shard, redis.call('HGET', KEYS[4], shard) or '', redis.call('GET', KEYS[6]) or ''}
end
local function is_free(shard)
  return redis.call('HEXISTS', KEYS[5], shard) == 0 and not redis.call('ZSCORE', KEYS[2], shard)
end
local function next_free()
  local shard = redis.call('LPOP', KEYS[1])
  while shard and not is_free(shard) do shard = redis.call('LPOP', KEYS[1]) end
  return shard
end
if ARGV[4] == 'of_owner' then
  if redis.call('HGET', KEYS[3], ARGV[5]) ~= ARGV[6] then return false end
  return lease(ARGV[5])
end
if ARGV[4] == 'last' then
  if redis.call('HEXISTS', KEYS[5], ARGV[2]) == 1 or redis.call('HLEN', KEYS[5]) < count then return false end
  local ends = redis.call('ZSCORE', KEYS[2], ARGV[2])
  if ends and tonumber(ends) > now then return false end
  return lease(ARGV[2])
end
local late = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 2)
for _, shard in ipairs(late) do
  if tonumber(shard) < count then return lease(shard) end
end
local shard = next_free()
local last = redis.call('ZSCORE', KEYS[2], ARGV[2]) and 1 or 0
if not shard and redis.call('ZCARD', KEYS[2]) - last + redis.call('HLEN', KEYS[5]) < count then
  redis.call('SET', KEYS[6], string.format('%.0f', time[1] * 1000000 + time[2]))
  for number = 0, count - 1 do
    if is_free(number) then redis.call('RPUSH', KEYS[1], number) end
  end
  shard = next_free()
end
if shard then return lease(shard) end
return false
)lua";

// KEYS as above; ARGV owner, count, lease, action, shard, file. Gives 1; 0: somebody else has it. One whose owner the
// server has lost is still this one's.
constexpr const char* settle_script = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[4] == 'undo' then
  if redis.call('HDEL', KEYS[5], ARGV[5]) == 1 then redis.call('RPUSH', KEYS[1], ARGV[5]) end
  redis.call('HDEL', KEYS[4], ARGV[5])
  return 1
end
local owner = redis.call('HGET', KEYS[3], ARGV[5])
local done = redis.call('HGET', KEYS[5], ARGV[5])
if done then return done == ARGV[6] and ARGV[4] == 'finish' and 1 or 0 end
if owner and owner ~= ARGV[1] then return 0 end
if ARGV[4] == 'renew' then
  redis.call('ZADD', KEYS[2], now + tonumber(ARGV[3]), ARGV[5])
  redis.call('HSET', KEYS[3], ARGV[5], ARGV[1])
  if ARGV[6] ~= '' then redis.call('HSET', KEYS[4], ARGV[5], ARGV[6]) end
  return 1
end
redis.call('ZREM', KEYS[2], ARGV[5])
redis.call('HDEL', KEYS[3], ARGV[5])
if ARGV[4] == 'finish' and tonumber(ARGV[5]) < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[5], ARGV[5], ARGV[6])
elseif ARGV[4] == 'finish' then
  redis.call('HSET', KEYS[5], ARGV[5], '-')
  for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, 604800) end
elseif tonumber(ARGV[5]) < tonumber(ARGV[2]) then
  redis.call('LPUSH', KEYS[1], ARGV[5])
end
return 1
)lua";

std::string id_in(const std::string& place) {
  return place.substr(place.rfind('#') + 1);
}

RedisAddress address_in(const std::string& place) {
  return parse_redis_address(std::string_view(place).substr(0, place.rfind('#')));
}

std::uint64_t marks_in(const std::string& path) {
  try {
    const OpenFile file(path);
    const std::string text = file.text(0, std::min<std::uint64_t>(file.bytes(), 65536));
    return static_cast<std::uint64_t>(std::ranges::count(text, '\1'));
  } catch (const FileError&) {
    return 0;
  }
}

}  // namespace

RedisClaims::RedisClaims(const std::string& place, std::string folder, std::uint64_t count)
    : id_(id_in(place)), folder_(std::move(folder)), owner_(own_name()), count_(count), client_(address_in(place)) {
  look_for_files();
}

RedisClaims::~RedisClaims() {
  try {
    while (!held_.empty()) give_back(held_.begin()->first);
  } catch (const std::exception&) {
    // Their leases end.
  }
}

std::string RedisClaims::key(const char* name) const {
  return client_.key("claims:" + id_ + ":" + name);
}

// Of several of a shard the one with the most results.
void RedisClaims::look_for_files() {
  found_.clear();
  if (folder_.empty()) return;
  for (const std::string& name : names_in(folder_)) {
    const auto shard = number_of(std::string_view(name).substr(0, name.find('.')));
    if (!shard || name.ends_with(".new")) continue;
    std::string& best = found_[*shard];
    if (best.empty() || marks_in(path(name)) > marks_in(path(best))) best = name;
  }
}

// With the keys and the words that both scripts begin with.
RedisReply RedisClaims::run(const char* script, std::initializer_list<std::string> more) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(lease).count();
  std::vector<std::string> words{key("todo"),
                                 key("leases"),
                                 key("owners"),
                                 key("files"),
                                 key("done"),
                                 key("repairs"),
                                 owner_,
                                 std::to_string(count_),
                                 std::to_string(milliseconds)};
  words.insert(words.end(), more);
  return client_.script(script, 6, words);
}

std::optional<std::uint64_t> RedisClaims::claim(What what, const std::string& shard, const std::string& owner) {
  constexpr const char* names[] = {"any", "last", "of_owner"};
  const RedisReply reply = run(claim_script, {names[static_cast<std::size_t>(what)], shard, owner});
  if (reply.is_nil() || reply.list.size() != 3) return std::nullopt;
  const auto number = number_of(reply.list[0].text);
  if (!number) return std::nullopt;
  if (std::exchange(repaired_, reply.list[2].text) != reply.list[2].text) look_for_files();
  return take(*number, reply.list[1].text) ? number : std::nullopt;
}

// Its content in a new file: whoever had it before, and still writes, writes into the old one.
bool RedisClaims::take(std::uint64_t shard, std::string previous) {
  held_[shard] = "";
  if (folder_.empty() || shard == count_) return true;
  if (previous.empty() || !is_there(path(previous))) {
    // The server has lost its name, or has one that is lost.
    if (!previous.empty()) look_for_files();
    previous = found_.contains(shard) ? found_[shard] : "";
  }
  static std::atomic<std::uint64_t> files{0};  // of this process: a name is never that of a file that is there
  const std::string file = std::to_string(shard) + "." + owner_ + "." + std::to_string(files++);
  try {
    if (previous.empty() || !is_there(path(previous)))
      make_empty(path(file));
    else
      ShardFile::copy(path(previous), path(file));
    held_[shard] = file;
    if (settle("renew", shard, file)) {
      if (!previous.empty()) ::unlink(path(previous).c_str());
      return true;
    }
  } catch (const NotNow&) {
    held_.erase(shard);  // its lease ends; the server may have the name of the new file by now
    throw;
  } catch (...) {
    ::unlink(path(file).c_str());
    held_.erase(shard);
    throw;
  }
  ::unlink(path(file).c_str());
  held_.erase(shard);  // lost again meanwhile
  return false;
}

std::optional<std::uint64_t> RedisClaims::claim(From from) {
  if (from == From::dead) return claim_of_dead();
  if (const auto shard = claim(What::any)) return shard;
  return claim_of_dead();
}

// Of processes of this host, whose leases have not ended yet.
std::optional<std::uint64_t> RedisClaims::claim_of_dead() {
  const RedisReply owners = client_.command({"HGETALL", key("owners")});
  for (std::size_t i = 0; i + 1 < owners.list.size(); i += 2) {
    const std::string& shard = owners.list[i].text;
    const std::string& owner = owners.list[i + 1].text;
    if (owner == owner_ || !has_ended(owner) || number_of(shard).value_or(count_) >= count_) continue;
    if (const auto taken = claim(What::of_owner, shard, owner)) return taken;
  }
  return std::nullopt;
}

bool RedisClaims::claim_last() {
  if (!claim(What::last)) return false;
  done_.clear();
  return true;
}

bool RedisClaims::settle(const char* action, std::uint64_t shard, const std::string& file) {
  return run(settle_script, {action, std::to_string(shard), file}).number == 1;
}

bool RedisClaims::renew(std::uint64_t shard) {
  const auto held = held_.find(shard);
  if (held == held_.end()) return false;
  if (settle("renew", shard, held->second)) return true;
  held_.erase(held);
  return false;
}

void RedisClaims::give_back(std::uint64_t shard) {
  const auto held = held_.extract(shard);
  if (!held.empty()) settle("give_back", shard, held.mapped());
}

bool RedisClaims::finish(std::uint64_t shard) {
  const auto held = held_.find(shard);
  if (held == held_.end()) return false;
  const bool has_file = !held->second.empty();
  if (has_file && !is_there(path(held->second))) {  // somebody has taken it away
    give_back(shard);
    return false;
  }
  if (has_file) sync_folder(folder_);
  const bool is_ours = settle("finish", shard, has_file ? held->second : "-");
  held_.erase(held);
  return is_ours;
}

void RedisClaims::undo(std::uint64_t shard) {
  settle("undo", shard, "");
  done_.clear();
}

std::string RedisClaims::running(std::uint64_t shard) const {
  return path(held_.at(shard));
}

std::string RedisClaims::done(std::uint64_t shard) {
  if (done_.empty()) {
    const RedisReply all = client_.command({"HGETALL", key("done")});
    for (std::size_t i = 0; i + 1 < all.list.size(); i += 2)
      if (const auto number = number_of(all.list[i].text)) done_[*number] = all.list[i + 1].text;
  }
  const auto found = done_.find(shard);
  if (found == done_.end()) throw NotNow(client_.address().described() + ": has lost where results are");
  return path(found->second);
}

}  // namespace weft
