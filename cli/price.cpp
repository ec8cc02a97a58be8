// See price.h.
#include "cli/price.h"

#include <cstdio>
#include <string>

namespace weft::cli {
namespace {

// As of CLI11: "" where it is one. Its own ranges let "nan" pass.
std::string fault_of_price(const std::string& text) {
  double price = 0;
  const bool is_price = CLI::detail::lexical_cast(text, price) && price >= 0 && price <= 1e6;
  return is_price ? "" : "'" + text + "' is no price from 0 to 1000000";
}

}  // namespace

void PriceFlags::add_to(CLI::App& app) {
  CLI::Option* const price =
      app.add_option(
             "--price", training,
             "Of a GPU for an hour: says what fill work saves. It is that of a GPU of the training, in any currency.")
          ->type_name("NUMBER")
          ->check(fault_of_price);
  app.add_option("--fill-price", fill, "Of a GPU for an hour that would do the fill work instead.")
      ->type_name("NUMBER")
      ->default_str("--price")
      ->check(fault_of_price)
      ->needs(price);
}

std::optional<model::Prices> PriceFlags::prices() const {
  if (!training) return std::nullopt;
  return model::Prices{*training, fill.value_or(*training)};
}

void print_saving(const model::Saving& saving, bool at_most) {
  std::printf(
      "in a day: fill work worth %.2f, %.2f for the slowdown%s; saved %.2f%s, %+.2f %% of the cost of the training "
      "(%+.2f %% gross)\n",
      saving.value, saving.slowdown, at_most ? " at most" : "", saving.net(), at_most ? " at least" : "",
      100 * saving.net_share(), 100 * saving.gross_share());
}

nlohmann::ordered_json json_of_saving(const std::optional<model::Saving>& saving) {
  if (!saving) return nullptr;
  return {{"training_cost_per_day", saving->cost},     {"fill_value_per_day", saving->value},
          {"slowdown_cost_per_day", saving->slowdown}, {"saving_per_day", saving->net()},
          {"gross_share", saving->gross_share()},      {"net_share", saving->net_share()}};
}

}  // namespace weft::cli
