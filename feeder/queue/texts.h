// The text in which queues keep what becomes of a waiting job: the same in a folder and in Redis.
//
// Used by the two queues. Text that is none of ours gives an empty value: whoever wrote it may be another version.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "feeder/queue/job_queue.h"

namespace weft {

std::string to_text(const AtWork& work);
std::string to_text(const Refusal& refusal);
std::optional<AtWork> parse_work(std::string_view text, const std::string& owner);
std::optional<Refusal> parse_refusal(std::string_view text);

}  // namespace weft
