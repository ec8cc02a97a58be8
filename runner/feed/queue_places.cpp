// See queue_places.h.
#include "runner/feed/queue_places.h"

#include <algorithm>

namespace weft {

QueuePlaces::QueuePlaces(const std::string& folder, const JobChannel::Of& of)
    : channel_(JobChannel::create(folder, of)) {}

QueuePlaces::~QueuePlaces() {
  close();
}

void QueuePlaces::close() {
  header().closed.store(1, std::memory_order_release);
}

void QueuePlaces::offer(const BubbleLengths& bubbles) {
  for (std::size_t step = 0; step < BubbleLengths::steps; ++step)
    header().idle[step].store(bubbles.idle()[step], std::memory_order_relaxed);
}

void QueuePlaces::ask(std::uint32_t number) {
  QueuePlace& asks = place(number);
  asks.asked.store(asks.returned.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool QueuePlaces::is_answered(std::uint32_t number) const {
  const QueuePlace& asks = place(number);
  const std::uint32_t asked = asks.asked.load(std::memory_order_relaxed);
  return asks.given.load(std::memory_order_acquire) == asked || asks.looked.load(std::memory_order_acquire) == asked;
}

std::optional<PlacedJob> QueuePlaces::take(std::uint32_t number) {
  const QueuePlace& from = place(number);
  if (from.given.load(std::memory_order_acquire) == from.returned.load(std::memory_order_relaxed)) return std::nullopt;
  const GivenJob& job = from.job;
  PlacedJob made;
  JobPlan& plan = made.plan;
  plan.spec = job.spec.get();
  plan.arguments = parse_fill_spec(plan.spec).arguments;
  plan.name = job.name.get();
  plan.stamp = job.stamp;
  plan.files = {job.input.get(), job.results.get(), job.weights.get(), job.claims.get()};
  plan.memory = job.memory;
  plan.terms = job.terms;
  for (std::uint32_t variant = 0; variant < std::min<std::size_t>(job.variants, most_variants); ++variant)
    plan.variants.push_back(job.variant[variant].get());
  made.progress = job.progress.get();
  return made;
}

void QueuePlaces::runs(std::uint32_t number, Duration longest_slice) {
  QueuePlace& to = place(number);
  to.slice.store(longest_slice.count(), std::memory_order_relaxed);
  to.runs.store(to.given.load(std::memory_order_relaxed), std::memory_order_release);
}

void QueuePlaces::note_units(std::uint32_t number, std::uint64_t units) {
  place(number).units.store(units, std::memory_order_relaxed);
}

std::optional<std::string> QueuePlaces::withdrawn(std::uint32_t number) const {
  const QueuePlace& from = place(number);
  const std::uint32_t given = from.given.load(std::memory_order_relaxed);
  const bool has_job = given != from.returned.load(std::memory_order_relaxed);
  if (!has_job || from.withdrawn.load(std::memory_order_acquire) != given) return std::nullopt;
  return from.why_withdrawn.get();
}

void QueuePlaces::give_back(std::uint32_t number, JobEnd end, std::uint64_t memory, const std::string& why) {
  QueuePlace& to = place(number);
  to.end = end;
  to.memory = memory;
  to.why.set(why);
  to.returned.store(to.given.load(std::memory_order_relaxed), std::memory_order_release);
}

std::string QueuePlaces::fault() {
  const std::uint32_t faults = header().faults.load(std::memory_order_acquire);
  if (faults == faults_) return "";
  faults_ = faults;
  return header().fault.get();
}

}  // namespace weft
