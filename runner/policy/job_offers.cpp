// See job_offers.h.
#include "runner/policy/job_offers.h"

#include <algorithm>
#include <utility>

#include "detector/dcheck.h"

namespace weft {

void JobOffers::add(const Cuts& cuts, std::vector<Duration> alone, const JobTerms& terms) {
  WEFT_DCHECK(count_ < most_jobs);
  Job& job = jobs_[count_];
  job.ended = true;
  job.standing.terms = terms;
  replace(count_++, cuts, std::move(alone));
}

void JobOffers::replace(std::uint32_t number, const Cuts& cuts, std::vector<Duration> alone) {
  Job& job = jobs_[number];
  WEFT_DCHECK(job.ended);
  std::array<JobStanding, most_jobs> others{};
  std::size_t others_count = 0;
  for (std::uint32_t i = 0; i < count_; ++i)
    if (!jobs_[i].ended) others[others_count++] = jobs_[i].standing;
  const Duration had = head_start_beside(std::span(others).first(others_count), job.standing.terms.weight);
  job.standing.head_start = std::max(job.standing.head_start, had - job.standing.filled);
  job.standing.unit = {};
  job.cuts = &cuts;
  job.alone = std::move(alone);
  for (const std::uint32_t slice : cuts.sequences().back()) job.standing.unit += job.alone[slice];
  job.next = job.in_unit = job.passes = 0;
  job.ended = job.suspended = job.waits = job.moves = job.is_away = job.pass_is_open = false;
  ++left_;
}

void JobOffers::renew(std::uint32_t number, const Cuts& cuts, std::vector<Duration> alone, const JobTerms& terms) {
  jobs_[number].standing = {};
  jobs_[number].standing.terms = terms;
  replace(number, cuts, std::move(alone));
}

Candidates JobOffers::next_of(std::uint32_t number) const {
  Candidates next;
  const Job& job = jobs_[number];
  if (job.ended || job.moves || job.pass_is_open || job.next >= job.cuts->nodes()) return next;
  for (const std::uint32_t slice : job.cuts->from(job.next)) next.alone[next.count++] = job.alone[slice];
  return next;
}

std::optional<std::uint32_t> JobOffers::next_of_move(std::uint32_t number) const {
  const Job& job = jobs_[number];
  if (job.ended || job.suspended || !job.moves || job.next >= job.cuts->nodes()) return std::nullopt;
  return job.cuts->from(job.next).front();
}

// A job all of whose unit or pass was launched waits for its end.
std::size_t JobOffers::make() {
  std::array<JobStanding, most_jobs> standings{};
  for (std::uint32_t i = 0; i < count_; ++i) {
    standings[i] = jobs_[i].standing;
    const Job& job = jobs_[i];
    const bool may_work = !job.moves && !job.is_away && !job.waits && !job.pass_is_open;
    standings[i].ready = !job.ended && !job.suspended && may_work && job.next < job.cuts->nodes();
  }
  const JobOrder order(policy_, std::span(standings).first(count_));
  const std::size_t moves = offer_moves();
  std::size_t offers = moves;
  for (const std::uint8_t number : order.numbers()) {
    if (offers == moves || policy_ != JobPolicy::throughput) offers_[offers++].candidates.count = 0;
    Offer& offer = offers_[offers - 1];
    const Job& job = jobs_[number];
    for (const std::uint32_t slice : job.cuts->from(job.next)) {
      offer.choices[offer.candidates.count] = {number, slice};
      offer.candidates.alone[offer.candidates.count++] = job.alone[slice];
    }
  }
  return offers;
}

// Before all fill work: the training is short of memory, or the job stands still.
std::size_t JobOffers::offer_moves() {
  std::size_t offers = 0;
  for (std::uint32_t number = 0; number < count_; ++number) {
    const std::optional<std::uint32_t> piece = next_of_move(number);
    if (!piece) continue;
    Offer& offer = offers_[offers++];
    offer.candidates.count = 1;
    offer.candidates.alone[0] = jobs_[number].alone[*piece];
    offer.choices[0] = {number, *piece};
  }
  return offers;
}

LaunchedSlice JobOffers::launched(const Choice& choice, std::uint64_t bubble, TimePoint now) {
  Job& job = jobs_[choice.job];
  WEFT_DCHECK(!job.ended && job.next < job.cuts->nodes());
  LaunchedSlice slice{choice, {job.standing.done, job.in_unit++}, bubble, now};
  job.next += job.cuts->slices()[choice.slice].count;
  const SliceRange& pass = job.cuts->pass();
  slice.place.ends_pass = job.pass_is_open = pass.count != 0 && job.next == pass.first + pass.count;
  slice.place.ends_unit = !slice.place.ends_pass && job.next == job.cuts->nodes();
  return slice;
}

SliceRecord JobOffers::finished(const LaunchedSlice& slice, TimePoint now) {
  SliceRecord record;
  record.job = slice.choice.job;
  record.unit = slice.place.unit;
  record.number = slice.place.in_unit;
  record.bubble = slice.bubble;
  record.launched = slice.launched;
  record.finished = now;
  record.alone = alone(slice.choice);
  record.unit_done = slice.place.ends_unit;
  Job& job = jobs_[slice.choice.job];
  if (job.moves)
    record.unit_done = false;
  else
    job.standing.filled += record.alone;
  return record;
}

bool JobOffers::pass_ended(std::uint32_t number, bool again) {
  Job& job = jobs_[number];
  WEFT_DCHECK(job.pass_is_open);
  job.pass_is_open = false;
  ++job.passes;
  if (again) job.next = job.cuts->pass().first;
  return !again && job.next == job.cuts->nodes();
}

bool JobOffers::unit_ended(std::uint32_t number) {
  Job& job = jobs_[number];
  job.next = job.in_unit = 0;
  job.standing.passes += std::exchange(job.passes, 0);
  if (++job.standing.done != job.standing.terms.units) return false;
  end(number);
  return true;
}

void JobOffers::begin_move(std::uint32_t number, const Cuts& cuts, std::vector<Duration> alone) {
  Job& job = jobs_[number];
  WEFT_DCHECK(!job.ended && is_between_units(number));
  job.cuts_of_unit = std::exchange(job.cuts, &cuts);
  job.alone_of_unit = std::exchange(job.alone, std::move(alone));
  job.next = 0;
  job.moves = true;
}

void JobOffers::end_move(std::uint32_t number, bool away) {
  Job& job = jobs_[number];
  WEFT_DCHECK(job.moves);
  job.cuts = job.cuts_of_unit;
  job.alone = std::move(job.alone_of_unit);
  job.next = job.in_unit = 0;
  job.moves = false;
  job.is_away = away;
}

void JobOffers::end(std::uint32_t number) {
  WEFT_DCHECK(!jobs_[number].ended);
  jobs_[number].ended = true;
  --left_;
}

bool JobOffers::awaits_any() const {
  return std::ranges::any_of(std::span(jobs_).first(count_),
                             [](const Job& job) { return !job.ended && (job.waits || job.is_away); });
}

}  // namespace weft
