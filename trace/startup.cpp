// See startup.h.
#include "trace/startup.h"

#include <algorithm>

#include "trace/totals.h"

namespace weft {
namespace {

// The part of the amount, which is spread evenly, that lies before the border.
Duration part_before(TimePoint border, TimePoint from, TimePoint to, Duration amount) {
  if (from >= border) return {};
  if (to <= border) return amount;
  if (amount == to - from) return border - from;
  const double share = static_cast<double>((border - from).count()) / static_cast<double>((to - from).count());
  return Duration(static_cast<std::int64_t>(static_cast<double>(amount.count()) * share));
}

}  // namespace

void StartupTotals::add(Kind kind, TimePoint from, TimePoint to, Duration amount) {
  const Piece piece{kind, from, to, amount};
  if (border_) return count(piece, *border_);
  if (pieces_.size() == most_pieces) {
    const Piece oldest = pieces_.front();
    pieces_.pop();
    count(oldest, TimePoint::max());
    counted_until_ = std::max(counted_until_, oldest.to);
  }
  pieces_.push(piece);
}

void StartupTotals::count(const Piece& piece, TimePoint border) {
  add_to(sums_[piece.kind], part_before(border, piece.from, piece.to, piece.amount));
}

void StartupTotals::add(const Iteration& iteration) {
  if (border_) return;
  border_ = iteration.started;
  known_ = counted_until_ <= *border_;
  for (; !pieces_.empty(); pieces_.pop()) count(pieces_.front(), *border_);
  pieces_ = RingQueue<Piece>(most_pieces);
}

std::optional<StartupRecord> StartupTotals::record(const TraceSummary& totals) const {
  if (!known_) return std::nullopt;
  StartupRecord startup;
  startup.length = (border_ ? *border_ : totals.window_end) - totals.window_begin;
  startup.idle = border_ ? sums_[idle] : totals.idle;
  startup.uncertain = border_ ? sums_[uncertain] : totals.uncertain;
  startup.filled = border_ ? sums_[filled] : totals.filled;
  return startup;
}

}  // namespace weft
