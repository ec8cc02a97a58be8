// The name that somebody may have meant who wrote another one: of an option, a flag, a verb.
//
// Used by the options, also in the core when it starts, and by the weft command. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

// How many letters were left out, added, changed, or swapped with their neighbour.
std::size_t edit_distance(std::string_view left, std::string_view right);

// Nothing: none is near. Of a short name nothing is left by three changes: FOO is not LOG. A name that only one
// candidate begins with is its beginning.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

// "; did you mean summary?", or "".
std::string did_you_mean(const std::optional<std::string>& name);

}  // namespace weft
