// See work.h.
#include "work.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace probe {
namespace {

constexpr std::size_t streamed_bytes = std::size_t{64} << 20;
constexpr unsigned resident_threads = 1024, spin_threads = 640;
constexpr double shortest_measured = 200;  // microseconds

Counters* make_counters() {
  return reinterpret_cast<Counters*>(make_device_memory(sizeof(Counters)));
}

}  // namespace

void warm_up() {
  const CUstream stream = make_stream();
  Spin spin;
  spin.launch_released(stream, 1, 1);
  Busy busy;
  busy.launch(stream, 0);
  busy.launch_resident(stream, 0, 1);
  const CUdeviceptr memory = make_device_memory(4096);
  launch(Kernel::compute, {}, stream, memory, uint64_t{1});
  launch(Kernel::stream, {}, stream, memory, memory, uint64_t{1}, uint64_t{1});
  launch(Kernel::where, {}, stream, memory, uint32_t{1}, uint64_t{0});
  check(driver().cuStreamSynchronize(stream));
}

Spin::Spin()
    : words_(make_pinned<SpinWords>()),
      counters_(make_counters()),
      own_release_(make_pinned<uint32_t>()),
      release_(own_release_) {}

void Spin::launch(CUstream stream, unsigned blocks, unsigned cluster, double limit_milliseconds) {
  start(stream, blocks, cluster, limit_milliseconds, false);
}

void Spin::launch_released(CUstream stream, unsigned blocks, unsigned cluster) {
  start(stream, blocks, cluster, 3000, true);
}

void Spin::start(CUstream stream, unsigned blocks, unsigned cluster, double limit_milliseconds, bool released) {
  __atomic_store_n(own_release_, released ? 1 : 0, __ATOMIC_RELEASE);
  *words_ = {};
  const Shape shape{blocks, spin_threads, cluster, gpu().shared_of_spin, {}};
  probe::launch(Kernel::spin, shape, stream, words_, counters_, release_,
                static_cast<uint64_t>(limit_milliseconds * 1e6));
}

void Spin::release() {
  __atomic_store_n(own_release_, 1, __ATOMIC_RELEASE);
}

void Spin::wait_until_resident() const {
  if (!wait_for([this] { return is_resident(); }, 2000)) throw std::runtime_error("a spinning kernel does not start");
}

Busy::Busy() : words_(make_device_memory(sizeof(BusyWords))), counters_(make_counters()) {}

BusyWords Busy::words() const {
  BusyWords found{};
  check(driver().cuMemcpyDtoH(&found, words_, sizeof found));
  return found;
}

void Busy::launch(CUstream stream, double microseconds, const Shape& shape) {
  probe::launch(Kernel::busy, shape, stream, words_, counters_, done_, static_cast<uint64_t>(microseconds * 1e3));
}

void Busy::launch_resident(CUstream stream, double microseconds, unsigned blocks) {
  probe::launch(Kernel::resident, Shape{blocks, resident_threads, 1, 0, {}}, stream, words_, counters_, done_,
                static_cast<uint64_t>(microseconds * 1e3));
}

Work::Work(Kind kind, unsigned blocks, double microseconds, CUstream stream)
    : kind_(kind),
      blocks_(blocks),
      memory_(make_device_memory(kind == Kind::memory ? streamed_bytes : 4096)),
      from_(make_event(CU_EVENT_DEFAULT)),
      to_(make_event(CU_EVENT_DEFAULT)) {
  uint64_t rounds = 1;
  double took = measure(rounds, stream);
  while (took < std::min(shortest_measured, microseconds) && rounds < (uint64_t{1} << 40)) {
    rounds *= 4;
    took = measure(rounds, stream);
  }
  rounds_ = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(rounds) * microseconds / took));
  microseconds_ = measure(rounds_, stream);
}

void Work::launch(CUstream stream, std::optional<int> priority) const {
  launch_rounds(stream, rounds_, priority);
}

void Work::launch_rounds(CUstream stream, uint64_t rounds, std::optional<int> priority) const {
  const Shape shape{blocks_, compute_threads, 1, 0, priority};
  if (kind_ == Kind::compute) {
    probe::launch(Kernel::compute, shape, stream, memory_, rounds);
  } else {
    // One round is 64 KiB, so that short slices are possible; more than there is wraps around.
    const uint64_t words = std::min<uint64_t>(rounds * 4096, streamed_bytes / 16);
    const uint64_t repeats = std::max<uint64_t>(1, rounds * 4096 / words);
    probe::launch(Kernel::stream, shape, stream, memory_, memory_, words, repeats);
  }
}

double Work::measure(uint64_t rounds, CUstream stream) {
  double least = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    hold_.launch(stream);
    check(driver().cuEventRecord(from_, stream));
    launch_rounds(stream, rounds, {});
    check(driver().cuEventRecord(to_, stream));
    hold_.release();
    check(driver().cuEventSynchronize(to_));
    const double took = elapsed_microseconds(from_, to_);
    least = attempt == 0 ? took : std::min(least, took);
  }
  return least;
}

}  // namespace probe
