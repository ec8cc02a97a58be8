// Where a Redis server is, as a user writes it:
//
//   redis://[[USER][:PASSWORD]@]HOST[:PORT][/DATABASE][?OPTIONS]
//   redis+unix:///PATH/TO/SOCKET[?OPTIONS]
//   OPTIONS, with & between: prefix=NAME (weft) of all keys, folder=PATH for files that have no other place,
//                            database=N for a socket
//
// Without a password in it the variable REDISCLI_AUTH has one, as for redis-cli. Pure but for that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

struct RedisAddress {
  std::string host, socket;  // one of them
  std::uint16_t port = 6379;
  std::uint32_t database = 0;
  std::string user, password;
  std::string prefix = "weft";
  std::string folder;  // absolute; "": there is none

  std::string described() const;  // without password and options
};

bool is_redis(std::string_view name);  // by its begin
// Throws std::runtime_error, one line without the password.
RedisAddress parse_redis_address(std::string_view text);

}  // namespace weft
