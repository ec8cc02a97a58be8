// Timing the copies, and launching them; see the header for threads.
#include "runner/fill/mover.h"

#include <algorithm>
#include <array>

namespace weft {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t most_pieces = 65536, smallest_piece = std::uint64_t{256} << 10;
constexpr std::uint64_t timed_bytes = std::uint64_t{4} << 20;  // of one copy: long beside its launch

}  // namespace

std::uint64_t piece_size(std::uint64_t bytes, std::uint64_t fitting) {
  const std::uint64_t fewest = (bytes + most_pieces - 1) / most_pieces;
  const std::uint64_t size = std::max({fewest, fitting, smallest_piece});
  return (size + 255) / 256 * 256;
}

Mover::Mover(const Driver& driver, const Reservation::Movable& memory, CUstream stream, nanoseconds longest,
             const TimingOptions& timing)
    : driver_(driver), memory_(memory) {
  // Out first: what comes in is then what was there.
  for (const MoveWay way : {MoveWay::to_host, MoveWay::to_device})
    seconds_per_byte_[static_cast<std::size_t>(way)] = measured(way, stream, timing);
  const double slower = std::max(seconds_per_byte_[0], seconds_per_byte_[1]);
  const double fitting = std::chrono::duration<double>(longest).count() / slower;
  piece_ = piece_size(memory.bytes, static_cast<std::uint64_t>(std::min(fitting, 1e15)));
  const std::uint64_t pieces = (memory.bytes + piece_ - 1) / piece_;
  const std::vector<nanoseconds> nodes(pieces, nanoseconds(2));
  const std::array<nanoseconds, 1> caps{nanoseconds(1)};  // each piece is a slice of its own
  cuts_ = Cuts(nodes, caps);
}

CUresult Mover::copy(MoveWay way, std::uint64_t first, std::uint64_t bytes, CUstream stream) const {
  return way == MoveWay::to_host
             ? driver_.cuMemcpyDtoHAsync_v2(memory_.host + first, memory_.device + first, bytes, stream)
             : driver_.cuMemcpyHtoDAsync_v2(memory_.device + first, memory_.host + first, bytes, stream);
}

double Mover::measured(MoveWay way, CUstream stream, const TimingOptions& timing) const {
  const std::uint64_t bytes = std::min(memory_.bytes, timed_bytes);
  const auto enqueue = [&] { check(driver_, copy(way, 0, bytes, stream), "a copy of the fill job's memory"); };
  const nanoseconds length = measure(driver_, enqueue, stream, timing);
  return std::chrono::duration<double>(length).count() / static_cast<double>(bytes);
}

std::vector<Duration> Mover::alone(MoveWay way) const {
  std::vector<Duration> lengths;
  for (std::uint32_t piece = 0; piece < cuts_.slices().size(); ++piece)
    lengths.emplace_back(static_cast<std::int64_t>(1e9 * seconds_per_byte_[static_cast<std::size_t>(way)] *
                                                   static_cast<double>(bytes_of(piece))));
  return lengths;
}

std::uint64_t Mover::bytes_of(std::uint32_t piece) const {
  return std::min(piece_, memory_.bytes - piece * piece_);
}

CUresult Mover::launch(MoveWay way, std::uint32_t piece, CUstream stream) const {
  return copy(way, piece * piece_, bytes_of(piece), stream);
}

}  // namespace weft
