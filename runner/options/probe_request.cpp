// See probe_request.h.
#include "runner/options/probe_request.h"

#include <charconv>
#include <string_view>

namespace weft {
namespace {

template <class Request, class Visit>
void visit(Request& request, Visit visit) {
  visit("device", request.device);
  visit("uuid", request.uuid);
  visit("path", request.path);
  visit("arguments", request.arguments);
  visit("input", request.input);
  visit("results", request.results);
  visit("weights", request.weights);
  visit("memory", request.memory);
  visit("max_blocks", request.max_blocks);
  visit("reserved", request.reserved);
  visit("slice_cap", request.slice_cap);
  visit("limit", request.limit);
  visit("units", request.units);
  visit("confine", request.confine);
  visit("stream", request.stream);
  visit("one_queue", request.one_queue);
}

std::string text_of(const std::string& value) {
  return value;
}
std::string text_of(std::uint64_t value) {
  return std::to_string(value);
}

bool take(std::string_view text, std::string& value) {
  value = text;
  return true;
}
bool take(std::string_view text, std::uint64_t& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

}  // namespace

std::vector<std::string> arguments_of(const ProbeRequest& request) {
  std::vector<std::string> arguments;
  visit(request,
        [&](const char* name, const auto& value) { arguments.push_back(std::string(name) + "=" + text_of(value)); });
  return arguments;
}

std::optional<ProbeRequest> probe_request(int count, const char* const* arguments) {
  ProbeRequest request;
  int next = 0;
  bool sound = true;
  visit(request, [&](const char* name, auto& value) {
    const std::string_view argument = next < count ? arguments[next++] : "";
    const std::string begin = std::string(name) + "=";
    sound = sound && argument.starts_with(begin) && take(argument.substr(begin.size()), value);
  });
  return sound && next == count ? std::optional(request) : std::nullopt;
}

}  // namespace weft
