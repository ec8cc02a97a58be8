// The text in which queues keep what becomes of a waiting job: the same in a folder and in Redis.
//
// Used by the two queues. Text that is none of ours gives an empty value: whoever wrote it may be another version.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "feeder/queue/job_queue.h"

namespace weft {

std::string dumped(const nlohmann::json& object);
nlohmann::json object_of(std::string_view text);  // an empty one where it is none
// A value of that type, or the other one.
template <class Value>
Value value_of(const nlohmann::json& object, const char* key, Value otherwise = {}) {
  try {
    return object.value(key, otherwise);
  } catch (const nlohmann::json::exception&) {
    return otherwise;
  }
}

std::string to_text(const AtWork& work);
std::string to_text(const Refusal& refusal);
std::optional<AtWork> parse_work(std::string_view text, const std::string& owner);
std::optional<Refusal> parse_refusal(std::string_view text);

}  // namespace weft
