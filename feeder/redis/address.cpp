// See address.h.
#include "feeder/redis/address.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace weft {
namespace {

constexpr std::string_view tcp = "redis://", over_socket = "redis+unix://", with_tls = "rediss://";

[[noreturn]] void refuse(const std::string& why) {
  throw std::runtime_error("the queue's address: " + why +
                           "; it is redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE] or redis+unix:///SOCKET");
}

template <class Number>
Number number_in(std::string_view text, const char* what) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty())
    refuse(std::string("there is no ") + what + " where one belongs");
  return number;
}

// %41 is A.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    const bool is_code =
        text[at] == '%' && at + 2 < text.size() &&
        std::from_chars(text.data() + at + 1, text.data() + at + 3, value, 16).ptr == text.data() + at + 3;
    if (is_code) at += 2;
    plain += is_code ? static_cast<char>(value) : text[at];
  }
  return plain;
}

std::string_view cut_behind(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

void take_options(std::string_view options, RedisAddress& address) {
  while (!options.empty()) {
    std::string_view option = options;
    options = cut_behind(option, '&');
    const std::string_view value = cut_behind(option, '=');
    if (option == "prefix")
      address.prefix = decoded(value);
    else if (option == "folder")
      address.folder = decoded(value);
    else if (option == "database")
      address.database = number_in<std::uint32_t>(value, "number of a database");
    else
      refuse("it has an option that is none: prefix, folder, database are");
  }
  if (address.prefix.empty()) refuse("the prefix is empty");
  if (!address.folder.empty() && address.folder.front() != '/') refuse("the folder is no absolute path");
}

void take_credentials(std::string_view text, RedisAddress& address) {
  const std::string_view password = cut_behind(text, ':');
  address.user = decoded(text);
  address.password = decoded(password);
}

}  // namespace

bool is_redis(std::string_view name) {
  return name.starts_with(tcp) || name.starts_with(over_socket) || name.starts_with(with_tls);
}

RedisAddress parse_redis_address(std::string_view text) {
  RedisAddress address;
  if (text.starts_with(with_tls)) refuse("TLS (rediss://) is not supported");
  const bool is_socket = text.starts_with(over_socket);
  if (!is_socket && !text.starts_with(tcp)) refuse("it begins otherwise");
  text.remove_prefix(is_socket ? over_socket.size() : tcp.size());
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    take_credentials(text.substr(0, at), address);
    text.remove_prefix(at + 1);
  }
  take_options(cut_behind(text, '?'), address);
  if (is_socket) {
    address.socket = decoded(text);
    if (address.socket.empty() || address.socket.front() != '/') refuse("the socket is no absolute path");
  } else {
    if (const std::string_view database = cut_behind(text, '/'); !database.empty())
      address.database = number_in<std::uint32_t>(database, "number of a database");
    const bool is_ipv6 = text.starts_with('[');
    const std::size_t end = is_ipv6 ? text.find(']') : text.find(':');
    if (is_ipv6 && end == std::string_view::npos) refuse("']' is missing");
    std::string_view port = is_ipv6 ? text.substr(end + 1) : end == std::string_view::npos ? "" : text.substr(end);
    address.host = is_ipv6 ? text.substr(1, end - 1) : text.substr(0, end);
    if (port.starts_with(':')) port.remove_prefix(1);
    if (!port.empty()) address.port = number_in<std::uint16_t>(port, "number of a port");
    if (address.host.empty()) refuse("the host is missing");
  }
  const char* const password = std::getenv("REDISCLI_AUTH");
  if (address.password.empty() && password != nullptr) address.password = password;
  return address;
}

std::string RedisAddress::described() const {
  if (!socket.empty()) return std::string(over_socket) + socket;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return std::string(tcp) + (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port) + "/" +
         std::to_string(database);
}

}  // namespace weft
