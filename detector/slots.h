// Forecasts: the latest bubble lengths of each slot of a rhythm, and their quantiles.
//
// Used by the detector, one thread. The tables of the last few rhythms are kept, so that a schedule that comes back
// (training after an evaluation phase) finds its own history again and never another schedule's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "detector/bubble.h"
#include "detector/calibration.h"

namespace weft {

class Slots {
 public:
  // `history`: lengths kept per slot; `warm_up`: first lengths of a slot that are not used.
  Slots(std::size_t history, std::size_t warm_up) : history_(history == 0 ? 1 : history), warm_up_(warm_up) {}

  // The table of the rhythm whose iteration is described by `key`; its number, never 0. Known ones are reused.
  std::uint32_t table_for(std::uint64_t key, std::uint32_t period);

  // `piece`: which of the bubbles in which this group is waited for, from 0. A short launch in between cuts a wait into
  // pieces. The first two have lengths of their own, the others have them together.
  void add(std::uint32_t table, std::int32_t ordinal, Duration length, std::uint32_t piece = 0);
  // While too little is known of a slot, `earlier` stands in for it; -1: none does.
  void stand_in(std::uint32_t table, std::int32_t ordinal, std::int32_t earlier);
  std::optional<Forecast> forecast(std::uint32_t table, std::int32_t ordinal, std::uint32_t piece = 0) const;
  // A bubble for which there was this forecast of the table is over.
  void compare(std::uint32_t table, const Forecast& forecast, Duration length);

 private:
  struct Lengths {
    std::uint64_t seen = 0;
    std::vector<Duration> latest;  // oldest first
  };
  using Pieces = std::array<Lengths, 3>;
  struct Table {
    std::uint32_t number = 0;
    std::uint64_t key = 0;
    std::uint64_t used = 0;
    std::vector<std::uint32_t> place;   // of an ordinal in lengths, plus 1
    std::vector<std::int32_t> earlier;  // that stands in for it; may be shorter
    std::vector<Pieces> lengths;
    Calibration calibration;
  };

  static const Lengths* lengths_of(const Table& table, std::int32_t ordinal, std::size_t piece);
  static const Lengths* best_known(const Table& table, std::int32_t ordinal, std::size_t piece);
  static void forget_before_change(std::vector<Duration>& lengths);
  Table* find(std::uint32_t number);
  const Table* find(std::uint32_t number) const { return const_cast<Slots*>(this)->find(number); }

  std::size_t history_;
  std::size_t warm_up_;
  std::uint32_t last_number_ = 0;
  std::uint64_t uses_ = 0;
  std::array<Table, 4> tables_{};
};

}  // namespace weft
