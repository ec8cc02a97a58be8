// See texts.h.
#include "feeder/queue/texts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft {

using nlohmann::json;

std::string dumped(const json& object) {
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

json object_of(std::string_view text) {
  json object = json::parse(text, nullptr, false);
  return object.is_object() ? object : json::object();
}

std::string to_text(const AtWork& work) {
  return dumped({{"host", work.host}, {"ranks", work.ranks}, {"since", work.since}, {"per_second", work.per_second}});
}

std::string to_text(const Refusal& refusal) {
  return dumped({{"kind", refusal_kind_names[static_cast<std::size_t>(refusal.kind)]},
                 {"by", refusal.by},
                 {"why", refusal.why},
                 {"times", refusal.times}});
}

std::optional<AtWork> parse_work(std::string_view text, const std::string& owner) {
  const json from = object_of(text);
  if (!from.contains("ranks")) return std::nullopt;
  return AtWork{owner, value_of<std::string>(from, "host"), value_of<std::vector<std::int32_t>>(from, "ranks"),
                value_of<std::int64_t>(from, "since"), value_of<double>(from, "per_second")};
}

std::optional<Refusal> parse_refusal(std::string_view text) {
  const json from = object_of(text);
  const auto kind = std::ranges::find(refusal_kind_names, value_of<std::string>(from, "kind"));
  if (kind == refusal_kind_names.end()) return std::nullopt;
  return Refusal{static_cast<RefusalKind>(kind - refusal_kind_names.begin()), value_of<std::string>(from, "by"),
                 value_of<std::string>(from, "why"), value_of<std::uint32_t>(from, "times", 1)};
}

}  // namespace weft
