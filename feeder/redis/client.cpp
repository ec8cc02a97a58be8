// See client.h.
#include "feeder/redis/client.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "feeder/claims.h"
#include "runner/clock.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr timeval longest_connect{2, 0}, longest_answer{5, 0};
constexpr Duration between_tries = 1s;  // of a server that does not answer

RedisReply taken(const redisReply& from) {
  RedisReply reply;
  switch (from.type) {
    case REDIS_REPLY_INTEGER:
      reply.kind = RedisReply::Kind::number;
      reply.number = from.integer;
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      reply.kind = RedisReply::Kind::text;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_ARRAY:
      reply.kind = RedisReply::Kind::list;
      for (std::size_t i = 0; i < from.elements; ++i) reply.list.push_back(taken(*from.element[i]));
      break;
    default:
      break;
  }
  return reply;
}

// Errors that pass: the server is starting, is a replica for now, or has no memory left.
bool passes(std::string_view error) {
  constexpr std::string_view of_script = "ERR Error running script";  // of Redis 6, in which it says the rest
  for (const char* const code :
       {"LOADING", "READONLY", "MASTERDOWN", "BUSY ", "TRYAGAIN", "OOM", "MISCONF", "CLUSTERDOWN", "NOREPLICAS"})
    if (error.starts_with(code) || (error.starts_with(of_script) && error.find(code) != error.npos)) return true;
  return error.find("max number of clients") != error.npos;
}

// A server that has gone is an error of the call, and no signal: whatever this process does about that one.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    const timespec none{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &none);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};

constexpr std::string_view unknown_script = "NOSCRIPT";

struct ServerFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

void RedisClient::lose(const std::string& why) {
  connection_ = nullptr;
  lost_ = now();
  why_lost_ = address_.described() + ": " + why;
  throw NotNow(why_lost_);
}

void RedisClient::connect() {
  if (connection_ != nullptr) return;
  if (!why_lost_.empty() && now() - lost_ < between_tries) throw NotNow(why_lost_);
  connection_.reset(address_.socket.empty()
                        ? redisConnectWithTimeout(address_.host.c_str(), address_.port, longest_connect)
                        : redisConnectUnixWithTimeout(address_.socket.c_str(), longest_connect));
  if (connection_ == nullptr) lose("no memory for a connection");
  if (connection_->err != 0) lose(std::string("cannot be reached: ") + connection_->errstr);
  redisSetTimeout(connection_.get(), longest_answer);
  if (!address_.password.empty()) {
    std::vector<std::string> words{"AUTH"};
    if (!address_.user.empty()) words.push_back(address_.user);
    words.push_back(address_.password);
    ask(words);
  }
  if (address_.database != 0) ask({"SELECT", std::to_string(address_.database)});
  if (const auto fault = fault_of_server()) {
    connection_ = nullptr;
    throw std::runtime_error(address_.described() + ": " + *fault);
  }
  why_lost_.clear();
}

// A queue in a server that may throw its keys away would lose jobs without a word.
std::optional<std::string> RedisClient::fault_of_server() {
  const std::string info = ask({"INFO"}).text;
  const auto value_of = [&](std::string_view key) {
    const std::size_t at = info.find("\n" + std::string(key) + ":");
    const std::size_t begin = at == std::string::npos ? info.size() : at + key.size() + 2;
    return info.substr(begin, info.find_first_of("\r\n", begin) - begin);
  };
  const std::string policy = value_of("maxmemory_policy"), most = value_of("maxmemory"),
                    version = value_of("redis_version");
  if (policy.starts_with("allkeys") && most != "0" && !most.empty())
    return "it may throw keys away (maxmemory-policy " + policy + "); a queue needs noeviction";
  if (!version.empty() && std::atoi(version.c_str()) < 6) return "is Redis " + version + "; 6 or newer is needed";
  return std::nullopt;
}

RedisReply RedisClient::ask(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const std::unique_ptr<redisReply, FreeReply> reply(static_cast<redisReply*>(
      redisCommandArgv(connection_.get(), static_cast<int>(texts.size()), texts.data(), sizes.data())));
  if (reply == nullptr)
    lose(connection_->err == REDIS_ERR_IO && errno == EAGAIN ? "does not answer" : connection_->errstr);
  if (reply->type != REDIS_REPLY_ERROR) return taken(*reply);
  const std::string error(reply->str, reply->len);
  if (error.starts_with(unknown_script)) throw ServerFault(error);
  if (passes(error)) lose(error);
  connection_ = nullptr;
  throw std::runtime_error(address_.described() + ": " + error);
}

RedisReply RedisClient::command(const std::vector<std::string>& words) {
  const std::lock_guard lock(mutex_);
  const WithoutPipeSignal calm;
  connect();
  return ask(words);
}

RedisReply RedisClient::script(const char* lua, std::size_t keys, const std::vector<std::string>& words) {
  const std::lock_guard lock(mutex_);
  const WithoutPipeSignal calm;
  connect();
  std::string& name = scripts_[lua];
  std::vector<std::string> all{"EVALSHA", name, std::to_string(keys)};
  all.insert(all.end(), words.begin(), words.end());
  if (!name.empty()) {
    try {
      return ask(all);
    } catch (const ServerFault&) {
      // It was started again.
    }
  }
  all[1] = name = ask({"SCRIPT", "LOAD", lua}).text;
  return ask(all);
}

}  // namespace weft
