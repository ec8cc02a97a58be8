// One connection to a Redis server, which is made anew where it has broken.
//
// Used by the queue and by claims, on any thread, one command at a time: locked inside. Every answer comes within some
// seconds. Throws NotNow where the server does not answer, and std::runtime_error where it refuses; one line, which
// names the server and not the password.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "detector/time.h"
#include "feeder/redis/address.h"

namespace weft {

// A reply as a tree. Nothing: a nil.
struct RedisReply {
  enum class Kind : std::uint8_t { nil, number, text, list };
  Kind kind = Kind::nil;
  std::int64_t number = 0;
  std::string text;
  std::vector<RedisReply> list;

  bool is_nil() const { return kind == Kind::nil; }
};

class RedisClient {
 public:
  explicit RedisClient(RedisAddress address) : address_(std::move(address)) {}

  RedisReply command(const std::vector<std::string>& words);
  // Of Lua: is sent whole only where the server does not know it yet. `words`: KEYS, then ARGV.
  RedisReply script(const char* lua, std::size_t keys, const std::vector<std::string>& words);

  const RedisAddress& address() const { return address_; }
  std::string key(const std::string& name) const { return address_.prefix + ":" + name; }

 private:
  struct Free {
    void operator()(redisContext* connection) const { redisFree(connection); }
  };
  void connect();
  RedisReply ask(const std::vector<std::string>& words);
  std::optional<std::string> fault_of_server();
  [[noreturn]] void lose(const std::string& why);

  const RedisAddress address_;
  std::mutex mutex_;
  std::unique_ptr<redisContext, Free> connection_;
  std::map<const char*, std::string> scripts_;  // their names in the server
  std::string why_lost_;
  TimePoint lost_{};
};

}  // namespace weft
