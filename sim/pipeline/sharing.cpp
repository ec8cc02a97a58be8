// See replica.h and sharing.h: kernels that share a rank's GPU with its pieces. Whatever begins or ends, what else runs
// there goes on faster or slower from then on, and its end moves.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/pipeline/replica.h"

namespace weft::pipeline {

void Replica::share_gpu(int number, TimePoint from, Duration alone) {
  const Time begins = std::max(from.time_since_epoch().count(), now_);
  rank(number).kernels.waiting.push_back({begins, alone.count()});
  push(begins, number, What::kernel_ready);
}

// The rest until this end takes so many times as long.
Replica::Time Replica::rescaled(Time end, double times) const {
  return now_ + std::llround(static_cast<double>(end - now_) * times);
}

// If one is there and may.
void Replica::begin_kernel(Rank& rank) {
  Kernels& kernels = rank.kernels;
  if (kernels.runs || kernels.waiting.empty() || kernels.waiting.front().from > now_) return;
  const Sharing& sharing = options_.sharing;
  const bool computes = rank.piece_began >= 0;
  const bool behind = sharing.kind == Sharing::Kind::behind;
  if (behind && computes) return;
  const double rate = behind ? 1 : computes ? sharing.kernel_rate : sharing.kernel_alone_rate;
  kernels.runs = true;
  kernels.counted = now_;
  kernels.ends = rescaled(now_ + kernels.waiting.front().alone, 1 / rate);
  kernels.waiting.pop_front();
  push(kernels.ends, rank.number, What::kernel_ended, ++kernels.timer);
  if (behind) {
    rank.held_until = rank.last_fill = kernels.ends;
  } else if (computes) {
    rank.piece_ends = rescaled(rank.piece_ends, 1 / sharing.piece_rate);
    push(rank.piece_ends, rank.number, What::compute_ended, ++rank.piece_timer);
  }
}

void Replica::end_kernel(Rank& rank, std::uint64_t timer) {
  if (timer != rank.kernels.timer) return;
  count_kernels(rank);
  rank.kernels.runs = false;
  if (options_.sharing.kind == Sharing::Kind::beside && rank.piece_began >= 0) {
    rank.piece_ends = rescaled(rank.piece_ends, options_.sharing.piece_rate);
    push(rank.piece_ends, rank.number, What::compute_ended, ++rank.piece_timer);
  }
  begin_kernel(rank);
  watcher_.shared(rank.number, now());
}

// Up to now, before anything changes.
void Replica::count_kernels(Rank& rank) {
  Kernels& kernels = rank.kernels;
  if (!kernels.runs) return;
  const Sharing& sharing = options_.sharing;
  const bool computes = rank.piece_began >= 0;
  const double rate = sharing.kind == Sharing::Kind::behind ? 1
                      : computes                            ? sharing.kernel_rate
                                                            : sharing.kernel_alone_rate;
  const Time work = std::llround(static_cast<double>(now_ - kernels.counted) * rate);
  (computes ? kernels.filled_beside : kernels.filled_before) += work;
  kernels.counted = now_;
}

// A piece has begun.
void Replica::share_with_piece(Rank& rank) {
  Kernels& kernels = rank.kernels;
  const Sharing& sharing = options_.sharing;
  if (sharing.kind != Sharing::Kind::beside || !kernels.runs) return;
  rank.piece_ends = rescaled(rank.piece_ends, 1 / sharing.piece_rate);
  kernels.ends = rescaled(kernels.ends, sharing.kernel_alone_rate / sharing.kernel_rate);
  push(kernels.ends, rank.number, What::kernel_ended, ++kernels.timer);
}

// The piece is over: `span` is completed.
void Replica::leave_piece(Rank& rank, Span& span) {
  Kernels& kernels = rank.kernels;
  const Sharing& sharing = options_.sharing;
  count_kernels(rank);
  span.filled_before = Duration{std::exchange(kernels.filled_before, 0)};
  span.filled_beside = Duration{std::exchange(kernels.filled_beside, 0)};
  if (sharing.kind == Sharing::Kind::beside) {
    rank.totals.delayed += Duration{now_ - rank.piece_began - rank.piece_length};
    if (kernels.runs) {
      kernels.ends = rescaled(kernels.ends, sharing.kernel_rate / sharing.kernel_alone_rate);
      push(kernels.ends, rank.number, What::kernel_ended, ++kernels.timer);
    }
  }
}

}  // namespace weft::pipeline
