// --price and --fill-price, and what they say.
//
// Used by `weft simulate` and `weft estimate`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/parse.h"
#include "runner/model/saving.h"

namespace weft::cli {

// Nothing where no price was given.
struct PriceFlags {
  std::optional<double> training, fill;

  void add_to(CLI::App& app);
  // As the training's where the fill work has none of its own.
  std::optional<model::Prices> prices() const;
};

// `at_most`: the slowdown is no more than a bound.
void print_saving(const model::Saving& saving, bool at_most);
// Of nothing: null.
nlohmann::ordered_json json_of_saving(const std::optional<model::Saving>& saving);

}  // namespace weft::cli
