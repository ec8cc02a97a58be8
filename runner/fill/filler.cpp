// Launching and reaping slices on the dispatcher thread; see the header.
#include "runner/fill/filler.h"

#include <algorithm>
#include <utility>

#include "detector/dcheck.h"

namespace weft {

void Filler::add(const ReadyJob& ready) {
  std::vector<Duration> alone;
  for (std::uint32_t slice = 0; slice < ready.unit->cuts().slices().size(); ++slice)
    alone.push_back(ready.unit->slice(slice).alone);
  const std::uint32_t place = place_of(ready.number);
  if (place == jobs_count_) {
    offers_.add(ready.unit->cuts(), std::move(alone), ready.terms);
    ++jobs_count_;
  } else if (ready.is_another) {
    offers_.renew(place, ready.unit->cuts(), std::move(alone), ready.terms);
  } else {
    offers_.replace(place, ready.unit->cuts(), std::move(alone));
  }
  jobs_[place].ready = ready;
  jobs_[place].units_before = offers_.standing(place).done;
  jobs_[place].feed_is_closed = jobs_[place].unit_begun = false;
  jobs_[place].watch = RoomWatch(ready.wish);
  track_ = ready.track;
}

// Of a job that is new, the next one.
std::uint32_t Filler::place_of(std::uint32_t number) const {
  std::uint32_t place = 0;
  while (place < jobs_count_ && jobs_[place].ready.number != number) ++place;
  return place;
}

bool Filler::suspend_between_units(std::uint32_t number) {
  const std::uint32_t place = place_of(number);
  if (!offers_.is_offered(place)) return true;
  if (jobs_[place].unit_begun || !offers_.is_between_units(place)) return false;
  offers_.suspend(place);
  return true;
}

bool Filler::begin_move(std::uint32_t number, MoveWay way) {
  const std::uint32_t place = place_of(number);
  Job& job = jobs_[place];
  if (!offers_.is_offered(place)) return true;
  if (job.unit_begun || !offers_.is_between_units(place)) return false;
  job.way = way;
  offers_.begin_move(place, job.ready.mover->cuts(), job.ready.mover->alone(way));
  return true;
}

void Filler::withdraw(std::uint32_t number) {
  const std::uint32_t place = place_of(number);
  Job& job = jobs_[place];
  WEFT_DCHECK(std::none_of(launched_.begin(), launched_.begin() + count_,
                           [place](const Launched& slice) { return slice.choice.job == place; }));
  if (offers_.is_offered(place)) offers_.end(place);
  if (job.ready.feed != nullptr) job.ready.feed->close();  // others may have its records, or the job itself later
  job.unit_begun = false;
  job.watch = RoomWatch();
}

void Filler::watch_room(const Room& room) {
  for (std::uint32_t place = 0; place < jobs_count_; ++place)
    if (jobs_[place].watch.wish().wants_any()) jobs_[place].watch.look(offers_.next_of(place), room);
}

void Filler::reap(TimePoint now, std::vector<SliceRecord>& finished) {
  while (count_ != 0 && failure_.empty() && first_is_done()) finish_first(now, finished);
  reaped_ = now;
}

bool Filler::first_is_done() {
  if (track_.done.event == nullptr) {
    const std::uint32_t reached = track_.done.host->load(std::memory_order_acquire);
    return static_cast<std::int32_t>(reached - launched_[0].number) >= 0;
  }
  const CUresult state = driver_.cuEventQuery(track_.done.event);
  if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) fail(state, "asking for the end of a slice");
  return state == CUDA_SUCCESS;
}

CUresult Filler::mark_end(std::uint32_t number) const {
  if (track_.done.event != nullptr) return driver_.cuEventRecord(track_.done.event, track_.stream);
  return driver_.cuStreamWriteValue32_v2(track_.stream, track_.done.device, number, CU_STREAM_WRITE_VALUE_DEFAULT);
}

void Filler::finish_first(TimePoint now, std::vector<SliceRecord>& finished) {
  const Launched first = launched_[0];
  WEFT_DCHECK(count_ != 0 && !unit_has_to_begin(first.choice));
  SliceRecord record = offers_.finished(first, now);
  record.job = jobs_[first.choice.job].ready.number;
  std::copy(launched_.begin() + 1, launched_.end(), launched_.begin());
  --count_;
  if (count_ != 0) launched_[0].starts = began_behind(first.starts + record.alone, reaped_, launched_[0].launched, now);
  if (offers_.moves(first.choice.job)) return end_copy(first, record);
  if (first.place.ends_pass) end_pass(first.choice.job, record);
  if (record.unit_done) end_unit(first.choice.job, record);
  finished.push_back(record);
}

void Filler::end_copy(const Launched& copy, const SliceRecord& record) {
  const Job& job = jobs_[copy.choice.job];
  moved_.push_back({record.job, job.way, job.ready.mover->bytes_of(copy.choice.slice), record.bubble, record.launched,
                    record.finished, record.alone});
  if (copy.place.ends_unit) offers_.end_move(copy.choice.job, job.way == MoveWay::to_host);
}

void Filler::end_pass(std::uint32_t number, SliceRecord& record) {
  FillJob& job = *jobs_[number].ready.job;
  const FillJob::Next next = job.pass_ended();
  record.unit_done = offers_.pass_ended(number, next == FillJob::Next::another_pass);
  if (next != FillJob::Next::failure) return;
  record.unit_done = jobs_[number].unit_begun = false;
  offers_.end(number);
  note_end(number, true, job.failure());
}

void Filler::end_unit(std::uint32_t number, SliceRecord& record) {
  Job& job = jobs_[number];
  job.unit_begun = false;
  if (!job.ready.job->end_unit(record.unit - job.units_before, record.correct)) {
    offers_.end(number);
    const char* const call = job.ready.feed == nullptr ? "end_unit" : "check";
    return note_end(number, true, std::string("failed in ") + call + ": " + job.ready.job->failure());
  }
  if (offers_.unit_ended(number))
    note_end(number, false, "has done its " + std::to_string(job.ready.terms.units) + " units");
}

void Filler::note_end(std::uint32_t number, bool failed, const std::string& why) {
  const ReadyJob& job = jobs_[number].ready;
  if (job.feed != nullptr) job.feed->close();
  const bool is_passing = failed && job.feed != nullptr && job.feed->is_broken();
  ended_.push_back({job.number, failed, is_passing, "fill job " + job.name + " " + why});
}

void Filler::close_feeds() {
  for (std::uint32_t place = 0; place < jobs_count_; ++place) {
    Job& job = jobs_[place];
    if (job.ready.feed != nullptr && offers_.is_offered(place) && !job.feed_is_closed) job.ready.feed->close();
    job.feed_is_closed = true;
  }
}

std::vector<EndedJob> Filler::take_ended() {
  return std::exchange(ended_, {});
}

bool Filler::may_launch() const {
  return failure_.empty() && count_ < (may_wait() ? most_in_flight : 1);
}

FillView Filler::view() const {
  FillView view;
  view.in_flight = in_flight();
  view.fillable = track_.fillable;
  view.may_wait = may_wait();
  return view;
}

// Of jobs that read records: there are some for the next unit, or there will be none.
void Filler::look_at_feeds() {
  for (std::uint32_t place = 0; place < jobs_count_; ++place) {
    const Job& job = jobs_[place];
    if (job.ready.feed == nullptr || job.unit_begun || !offers_.is_offered(place)) continue;
    const bool waits = !job.ready.feed->has_next();
    offers_.await(place, waits);
    if (!waits || !job.ready.feed->is_over()) continue;
    offers_.end(place);
    note_end(place, job.ready.feed->has_failed(), job.ready.feed->why());
  }
}

std::size_t Filler::make_offers() {
  look_at_feeds();
  offers_made_ = may_launch() ? offers_.make() : 0;
  return std::max<std::size_t>(offers_made_, 1);
}

FillView Filler::offer(std::size_t number) const {
  FillView made = view();
  made.awaits_work = offers_made_ == 0 && count_ == 0 && offers_.awaits_any();
  if (number >= offers_made_) return made;
  made.ready = true;
  made.candidates = offers_.candidates(number);
  return made;
}

std::optional<Choice> Filler::next_move() const {
  for (std::uint32_t place = 0; place < jobs_count_ && may_launch(); ++place)
    if (const auto piece = offers_.next_of_move(place)) return Choice{place, *piece};
  return std::nullopt;
}

void Filler::begin_unit(const Choice& choice) {
  Job& job = jobs_[choice.job];
  job.slot = job.ready.feed == nullptr ? 0 : job.ready.feed->next();
  job.unit_begun = job.ready.job->begin_unit(offers_.unit(choice.job) - job.units_before);
  if (job.unit_begun) return;
  offers_.end(choice.job);
  note_end(choice.job, true, "failed in begin_unit: " + job.ready.job->failure());
}

bool Filler::launch(TimePoint now, std::uint64_t bubble, const Choice& choice) {
  const Job& job = jobs_[choice.job];
  WEFT_DCHECK(!unit_has_to_begin(choice) && count_ < most_in_flight);
  const CUresult launched = enqueue(job, choice);
  if (launched != CUDA_SUCCESS) return fail(launched, "launching a slice"), false;
  const std::uint32_t number = ++last_number_;
  const TimePoint starts = count_ == 0 ? now : in_flight().expected_end;
  launched_[count_++] = {offers_.launched(choice, bubble, now), number, starts};
  const CUresult written = mark_end(number);
  if (written != CUDA_SUCCESS) fail(written, "marking the end of a slice");
  return true;
}

CUresult Filler::enqueue(const Job& job, const Choice& choice) const {
  if (offers_.moves(choice.job)) return job.ready.mover->launch(job.way, choice.slice, track_.stream);
  return driver_.cuGraphLaunch(job.ready.unit->slice(choice.slice).of_slot(job.slot), track_.stream);
}

void Filler::fail(CUresult result, const char* what) {
  context_gone_ = result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
  failure_ = std::string(what) + " failed with " + driver_.name_of(result);
}

InFlight Filler::in_flight() const {
  InFlight state;
  state.slices = count_;
  if (count_ == 0) return state;
  state.oldest_launched = launched_[0].launched;
  state.oldest_alone = offers_.alone(launched_[0].choice);
  state.first_ends = state.expected_end = launched_[0].starts + state.oldest_alone;
  for (std::uint32_t index = 1; index < count_; ++index)
    state.expected_end =
        std::max(state.expected_end, launched_[index].launched) + offers_.alone(launched_[index].choice);
  return state;
}

}  // namespace weft
