// See the header.
#include "runner/options/nearest.h"

#include <algorithm>
#include <vector>

namespace weft {
namespace {

// Nothing: it is so of no candidate, or of several. Fewer letters say too little.
template <class Matches>
std::optional<std::string> only_one(std::string_view name, std::span<const std::string> candidates, Matches matches) {
  constexpr std::size_t fewest_letters = 3;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (name.size() < fewest_letters || candidate == found || !matches(candidate)) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

// "slowdown-budget", "SLOWDOWN_BUDGET" with "budget": whole words.
bool ends_with_word(std::string_view candidate, std::string_view word) {
  if (!candidate.ends_with(word) || candidate.size() == word.size()) return false;
  const char before = candidate[candidate.size() - word.size() - 1];
  return before == '-' || before == '_';
}

// The first of those with the fewest changes, of one or two letters. Of a name of four letters two leave too little.
std::optional<std::string> misspelled(std::string_view name, std::span<const std::string> candidates) {
  std::optional<std::string> found;
  std::size_t most = name.size() < 2 ? 0 : name.size() <= 4 ? 1 : 2;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > most || (found && distance == most)) continue;
    most = distance;
    found = candidate;
  }
  return found;
}

}  // namespace

// Three rows of the table of all beginnings: a swap looks back by two. The names are short.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> before(right.size() + 1), last(right.size() + 1), row(right.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t changed = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  const auto begins = [&](const std::string& candidate) { return candidate.starts_with(name); };
  const auto ends = [&](const std::string& candidate) { return ends_with_word(candidate, name); };
  if (auto found = only_one(name, candidates, begins)) return found;
  if (auto found = misspelled(name, candidates)) return found;
  return only_one(name, candidates, ends);
}

std::string did_you_mean(const std::optional<std::string>& name) {
  return name ? "; did you mean " + *name + "?" : "";
}

}  // namespace weft
