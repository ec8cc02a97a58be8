// The money that fill work saves: what its GPU time is worth, and what slowing the training costs.
//
// Used by `weft simulate --price` and `weft estimate --price`. Pure. After FreeRide (arXiv 2409.06941), which compares
// what renting other GPUs for the side work would cost with what the longer training costs, by the cost of the training
// without it:
//   gross = value of the fill work / cost of the training without fill
//   net   = (value of the fill work - cost of the time that the training lasts longer) / the same
// FreeRide pays for the same work on an RTX 3080 and for the training's server by the hour. Here both prices are for an
// hour of one GPU; that of the fill work is of a GPU on which a unit lasts as long as on the idle GPU of the training.
#pragma once

namespace weft::model {

struct Prices {
  double training = 0, fill = 0;  // of a GPU for an hour; any currency
};

// Of a day of the training with fill.
struct Saving {
  double cost = 0;      // of its GPUs
  double value = 0;     // of the fill work
  double slowdown = 0;  // part of the cost: for what the same iterations last longer
  double net() const { return value - slowdown; }
  // By the cost of the same iterations without fill.
  double gross_share() const { return cost > slowdown ? value / (cost - slowdown) : 0; }
  double net_share() const { return cost > slowdown ? net() / (cost - slowdown) : 0; }
};

// `filled_gpus`: that the fill work keeps busy. `slowdown`: of an iteration, relative to one without fill; more than
// -1.
inline Saving saving_of(double gpus, double filled_gpus, double slowdown, const Prices& prices) {
  constexpr double hours = 24;
  Saving saving;
  saving.cost = gpus * hours * prices.training;
  saving.value = filled_gpus * hours * prices.fill;
  saving.slowdown = saving.cost * slowdown / (1 + slowdown);
  return saving;
}

}  // namespace weft::model
