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

// In this order: the only candidate that begins with the name, if that has three letters; the nearest one within two
// changes, of a name of up to four letters within one; the only one whose last words are the name, if that has three
// letters. Nothing: there is none.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

// "; did you mean summary?", or "".
std::string did_you_mean(const std::optional<std::string>& name);

}  // namespace weft
