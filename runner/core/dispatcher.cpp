// The thread of a device. See the header for who may call what.
#include "runner/core/dispatcher.h"

#include "runner/clock.h"
#include "runner/fill/queues.h"
#include "trace/write/clocks.h"

namespace weft {
namespace {

constexpr Duration longest_naming = std::chrono::seconds(1);  // of the latest call sites, at the end
constexpr Duration between_clocks = std::chrono::seconds(30);
constexpr Duration between_boards = std::chrono::milliseconds(200);
constexpr Duration between_pages = std::chrono::milliseconds(250);
constexpr Duration longest_launch = std::chrono::microseconds(100);
constexpr Duration longest_look = std::chrono::microseconds(200);  // that nobody interrupts

}  // namespace

Dispatcher::Dispatcher(const DispatcherParts& parts, const DispatcherOptions& options)
    : parts_(parts),
      options_(options),
      records_(*parts.reporter, parts.trace, {parts.sites, options.live && parts.trace != nullptr ? &live_ : nullptr}),
      source_(*parts.shim, *parts.router, parts.words, options.session.device, {parts.driver, parts.words}),
      questions_(*parts.shim, options.session.device),
      host_(*parts.shim, options.session.device),
      session_(options.session, records_, parts.recording),
      filler_(parts.filler) {}

void Dispatcher::prepare() {
  if (parts_.shim->mark_own_thread != nullptr) parts_.shim->mark_own_thread();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  parts_.driver->cuThreadExchangeStreamCaptureMode(&mode);
  parts_.driver->cuCtxSetCurrent(parts_.context);
  source_.begin(now());
}

Worker::Work Dispatcher::step(TimePoint begin) {
  const std::vector<Event>& events = source_.gather(begin, weft::now, !context_is_closing());
  const TimePoint now = source_.end_of_look();
  if (spins_since_ && now - *spins_since_ > longest_look) session_.interrupted(now);
  look_at_limits(now);
  look_at_annotations(now);
  write_board(now);
  show_page(now);
  look_at_clocks(now);
  session_.looks_within(source_.uncertainty_of_look());
  look_at_queues(events);
  watch_host(events);
  for (const Event& event : events) session_.observe(event);
  session_.looked(now);
  const std::vector<Event>& answers =
      questions_.answers(session_.session(), source_.time_of_look(), !context_is_closing());
  if (!answers.empty()) session_.looks_within(weft::now() - source_.time_of_look());
  for (const Event& event : answers) session_.observe(event);
  if (parts_.sites != nullptr) look_at_call_sites(now, events);
  withhold_markers();
  take_inbox(now);
  if (filler_ != nullptr && !context_is_closing()) fill(now);
  const bool is_over = session_.filling_is_over();
  if (is_over && filler_ != nullptr) filler_->close_feeds();
  filling_is_over_.store(is_over, std::memory_order_relaxed);
  return {slices_in_flight(), source_.groups_pending()};
}

// Not in a bubble: a host that is held up then may make it longer.
void Dispatcher::look_at_call_sites(TimePoint now, const std::vector<Event>& events) {
  const Session& session = session_.session();
  for (const Event& event : events) {
    if (event.kind == EventKind::group_issued) parts_.sites->group_issued(event.group, session.slot_of(event.group));
  }
  parts_.sites->look(now, !session.bubble_is_open() && !session.capture_is_open() && !context_is_closing());
  record_call_sites();
}

// Past the session and its recording: nothing is decided by them.
void Dispatcher::record_call_sites() {
  for (const Record& record : parts_.sites->take_records()) records_.push(record);
}

// Streams take turns at the queues when they are made. Of many that are made few are used, and may share one as well:
// nobody can tell, and all that they do would be in doubt.
void Dispatcher::look_at_queues(const std::vector<Event>& events) {
  const int device = options_.session.device;
  if (queues_are_shared_ || options_.session.detector.one_queue) return;
  if (parts_.shim->streams_in_use(device) < options_.queues) return;
  queues_are_shared_ = true;
  Event event{};
  event.time = events.empty() ? source_.time_of_look() : events.front().time;
  event.kind = EventKind::queues_shared;
  event.device = static_cast<std::int16_t>(device);
  session_.observe(event);
}

// Before the events: where there are some, the host acts from the first one on.
void Dispatcher::watch_host(const std::vector<Event>& events) {
  const std::optional<EventKind> change = host_.look(!events.empty());
  if (!change) return;
  Event event{};
  event.time = events.empty() ? source_.time_of_look() : events.front().time;
  event.kind = *change;
  event.device = static_cast<std::int16_t>(options_.session.device);
  session_.observe(event);
}

// Of several hosts nothing but the wall clock is common, and that is set and drifts.
void Dispatcher::look_at_clocks(TimePoint now) {
  if (now < next_clocks_) return;
  next_clocks_ = now + between_clocks;
  record_clocks();
}

void Dispatcher::write_board(TimePoint now) {
  if (now < next_board_) return;
  next_board_ = now + between_boards;
  board_.set(session_.session().bubble_lengths());
}

void Dispatcher::show_page(TimePoint now) {
  if (now < next_page_ || !options_.live || parts_.trace == nullptr) return;
  next_page_ = now + between_pages;
  const Session& session = session_.session();
  show(now, session.totals(), session.startup(), records_.dropped() + source_.lost());
}

void Dispatcher::show(TimePoint now, const TraceSummary& totals, const std::optional<StartupRecord>& startup,
                      std::uint64_t dropped_records) {
  live_numbers_.time = now.time_since_epoch().count();
  set_totals(totals, startup, live_numbers_);
  live_numbers_.dropped_records = dropped_records;
  live_.fill(session_.session().snapshot(), live_numbers_);
  parts_.trace->show(live_numbers_);
}

void Dispatcher::record_clocks() {
  const ClockRecord clocks = clock_pair();
  session_.pass(Record(options_.session.device, clocks.monotonic, clocks));
}

// How many streams the main job uses shows only while it runs.
void Dispatcher::look_at_limits(TimePoint now) {
  lost_events_ = source_.lost_more() || lost_events_;
  if (lost_events_ && session_.fills())
    session_.end_filling(now, "events of the training were lost, its state is not known");
  if (const char* what = parts_.shim->full_table(); what != nullptr && !table_was_full_) {
    table_was_full_ = true;
    session_.trouble(now, std::string("more ") + what + " than Weft has room for: the rest is not seen",
                     Audience::one_rank);
  }
  if (!session_.fills() || filler_ == nullptr || options_.session.detector.one_queue) return;
  const std::string crowd = too_many_streams(parts_.shim->streams_in_use(options_.session.device), options_.queues);
  if (!crowd.empty()) session_.end_filling(now, crowd);
}

void Dispatcher::look_at_annotations(TimePoint now) {
  if (!annotation_was_refused_ && source_.unheard_annotations().refused > 0) {
    annotation_was_refused_ = true;
    session_.note(now, "annotations: one names a device that cannot be, and is not believed");
  }
}

// Not before the end: the device may be observed later. Every rank says it: where the number comes from that of the
// process on its node, rank 0 is right.
void Dispatcher::look_for_lost_annotations(TimePoint now) {
  if (const std::optional<int> device = parts_.router->unobserved())
    session_.note(now, "annotations: they name device " + std::to_string(*device) +
                           ", which is not observed in this process, and go nowhere");
}

// As soon as it is known that the host issues a dark iteration, or again one that is watched.
void Dispatcher::withhold_markers() {
  groups_may_be_unmarked_.store(session_.session().marks_are_missing(), std::memory_order_release);
  const std::optional<std::uint64_t> only = session_.session().marks_only();
  if (only == marks_only_ || parts_.shim->withhold_markers == nullptr) return;
  marks_only_ = only;
  parts_.shim->withhold_markers(options_.session.device, only.has_value(), only.value_or(0));
}

void Dispatcher::add_job(const ReadyJob& job, const JobRecord& record) {
  // The thread says no more of it before it has the new one.
  rooms_[job.number].set({});
  if (job.is_another) board_.begin_units(job.number);
  suspended_jobs_.fetch_and(~(1U << job.number), std::memory_order_relaxed);
  away_jobs_.fetch_and(~(1U << job.number), std::memory_order_relaxed);
  {
    const std::lock_guard lock(ended_mutex_);
    how_ended_[job.number] = {};
  }
  ended_jobs_.fetch_and(~(1U << job.number), std::memory_order_relaxed);
  inbox_.add_job(job, record);
}

EndedJob Dispatcher::how_ended(std::uint32_t job) const {
  const std::lock_guard lock(ended_mutex_);
  return how_ended_[job];
}

void Dispatcher::resume_job(std::uint32_t job) {
  suspended_jobs_.fetch_and(~(1U << job), std::memory_order_relaxed);
  inbox_.hand_over(job, Inbox::Step::resume);
}

void Dispatcher::withdraw_job(std::uint32_t job) {
  suspended_jobs_.fetch_and(~(1U << job), std::memory_order_relaxed);
  inbox_.hand_over(job, Inbox::Step::withdraw);
}

void Dispatcher::move_job(std::uint32_t job, MoveWay way) {
  inbox_.hand_over(job, way == MoveWay::to_host ? Inbox::Step::move_to_host : Inbox::Step::move_to_device);
}

void Dispatcher::take_inbox(TimePoint now) {
  const Inbox::Content content = inbox_.take();
  for (const Record& record : content.records) session_.pass(record);
  for (const Inbox::Handover& handover : content.handovers) take_handover(handover);
  for (const Inbox::NewJob& added : content.jobs) {
    if (filler_ == nullptr) continue;
    filler_->add(added.job);
    session_.begin_filling(now, added.record);
  }
  if (!content.no_filling_reason.empty()) session_.no_filling(now, content.no_filling_reason);
  if (!content.end_reason.empty()) session_.end_filling(now, content.end_reason);
}

void Dispatcher::fill(TimePoint now) {
  looks_again_ = false;
  filler_->reap(now, slices_);
  for (const SliceRecord& slice : slices_) {
    session_.finished(slice);
    if (slice.unit_done) board_.note_unit(slice.job);
  }
  slices_.clear();
  note_moved();
  pause_jobs();
  move_jobs();
  session_.look(now, filler_->view());
  while (may_launch()) {
    const TimePoint time = weft::now();
    watch_room(time);
    const Wanted wanted = ask(time);
    if (!wanted.decision.launch || context_is_closing() || !launch(time, wanted)) break;
  }
  if (options_.slack_copies) copy_beside_work();
  end_jobs(now);
  suspend_jobs();
  if (!filler_->failure().empty())
    session_.end_filling(now, filler_->failure(), filler_->context_gone() ? Audience::trace : Audience::every_rank);
}

// The inbox may withdraw a job whose memory is about to go: it is looked into first.
bool Dispatcher::may_launch() const {
  return session_.fills() && launching_is_allowed() && !inbox_.is_filled() && !inbox_.ends_filling() && !looks_again_ &&
         to_suspend_.empty();
}

// The first offer that is worth it. One that waits for its time lets no other one go before it.
Dispatcher::Wanted Dispatcher::ask(TimePoint time) {
  Wanted wanted;
  const std::size_t offers = filler_->make_offers();
  for (std::size_t offer = 0; offer < offers && !wanted.decision.launch; ++offer) {
    wanted.decision = session_.decide(time, view_of_offer(offer));
    if (wanted.decision.launch) wanted.choice = filler_->choice(offer, wanted.decision.candidate);
    if (wanted.decision.waits) break;
  }
  return wanted;
}

// False: nothing more at this look. A call that takes time makes it old.
bool Dispatcher::launch(TimePoint time, const Wanted& wanted) {
  if (filler_->unit_has_to_begin(wanted.choice)) {
    filler_->begin_unit(wanted.choice);
    looks_again_ = true;
    return false;
  }
  if (!filler_->launch(time, wanted.decision.bubble, wanted.choice)) return false;
  const Duration took = weft::now() - time;
  session_.launched(took);
  looks_again_ = took > longest_launch;
  return true;
}

void Dispatcher::end_jobs(TimePoint now) {
  const bool all_over = filler_->all_jobs_ended() && inbox_.no_job_comes();
  for (const EndedJob& job : filler_->take_ended()) {
    session_.job_ended(now, job.number, job.failed, job.why, !all_over);
    {
      const std::lock_guard lock(ended_mutex_);
      how_ended_[job.number] = job;
    }
    ended_jobs_.fetch_or(1U << job.number, std::memory_order_release);
    last_ended_ = job;
  }
  if (all_over && session_.fills())
    session_.end_filling(now, last_ended_.why, last_ended_.failed ? Audience::every_rank : Audience::one_rank);
}

void Dispatcher::take_handover(const Inbox::Handover& handover) {
  if (handover.step == Inbox::Step::suspend) return to_suspend_.push_back(handover.job);
  if (handover.step == Inbox::Step::pause) return to_pause_.push_back(handover.job);
  if (handover.step == Inbox::Step::move_to_host || handover.step == Inbox::Step::move_to_device)
    return to_move_.push_back(handover);
  if (handover.step == Inbox::Step::resume) {
    std::erase(to_pause_, handover.job);
    return filler_->resume(handover.job);
  }
  filler_->withdraw(handover.job);
  std::erase_if(to_move_, [&](const Inbox::Handover& move) { return move.job == handover.job; });
  ended_jobs_.fetch_or(1U << handover.job, std::memory_order_release);
}

void Dispatcher::suspend_jobs() {
  if (to_suspend_.empty() || slices_in_flight() != 0) return;
  for (const std::uint32_t job : to_suspend_) {
    if (has_ended(job)) continue;
    filler_->suspend(job);
    suspended_jobs_.fetch_or(1U << job, std::memory_order_release);
  }
  to_suspend_.clear();
}

void Dispatcher::pause_jobs() {
  std::erase_if(to_pause_, [this](std::uint32_t job) {
    if (!has_ended(job) && !filler_->suspend_between_units(job)) return false;
    suspended_jobs_.fetch_or(1U << job, std::memory_order_release);
    return true;
  });
}

void Dispatcher::move_jobs() {
  std::erase_if(to_move_, [this](const Inbox::Handover& move) {
    return filler_->begin_move(move.job,
                               move.step == Inbox::Step::move_to_host ? MoveWay::to_host : MoveWay::to_device);
  });
}

void Dispatcher::note_moved() {
  for (const MoveRecord& move : filler_->take_moved()) {
    session_.moved(move);
    const std::uint32_t job = 1U << move.job;
    if (filler_->is_away(move.job))
      away_jobs_.fetch_or(job, std::memory_order_release);
    else
      away_jobs_.fetch_and(~job, std::memory_order_release);
  }
}

void Dispatcher::copy_beside_work() {
  if (!may_launch() || context_is_closing()) return;
  const std::optional<Choice> next = filler_->next_move();
  const TimePoint time = weft::now();
  if (!next || !session_.session().may_copy_beside_work(time, filler_->view(), filler_->alone(*next))) return;
  if (filler_->launch(time, 0, *next)) session_.launched_beside_work(time, filler_->alone(*next));
}

void Dispatcher::watch_room(TimePoint time) {
  if (!session_.bubble_is_open()) return;
  const Session& session = session_.session();
  filler_->watch_room([&session, time](const Candidates& next) { return session.room_for(time, next); });
  for (std::uint32_t place = 0; place < filler_->jobs(); ++place) {
    const RoomWatch& watch = filler_->watch(place);
    if (watch.wish().wants_any()) rooms_[filler_->number_of(place)].set({watch.finding(), watch.refused()});
  }
}

// The shim is asked what is enqueued only where that decides.
FillView Dispatcher::view_of_offer(std::size_t number) const {
  FillView view = filler_->offer(number);
  const bool decides = view.fillable != Fillable::any && view.ready && session_.bubble_is_open();
  view.nothing_enqueued = decides && parts_.shim->nothing_is_enqueued != nullptr &&
                          parts_.shim->nothing_is_enqueued(options_.session.device);
  return view;
}

TimePoint Dispatcher::next_look(TimePoint now, bool wanted) {
  spins_since_.reset();
  if (looks_again_) return now;
  const TimePoint next = session_.next_look(now, {wanted, slices_in_flight(), source_.markers_outstanding()});
  if (next <= now) spins_since_ = now;
  return next;
}

// The core gives back what is reserved, the hooks go quiet, and the main job goes on.
Worker::Work Dispatcher::fail() noexcept {
  failed_ = true;
  parts_.reporter->error("the dispatcher failed, Weft is off in this process");
  parts_.note_failure();
  return {slices_in_flight(), source_.groups_pending()};
}

std::uint32_t Dispatcher::slices_in_flight() const {
  return filler_ == nullptr ? 0 : filler_->in_flight().slices;
}

void Dispatcher::submit(const Record& record) {
  if (ended()) return session_.pass(record);
  inbox_.submit(record);
}

void Dispatcher::note_set_up_failure(const std::string& text) {
  session_.no_filling(now(), text);
}

TraceSummary Dispatcher::summary() {
  take_inbox(now());  // what came after the thread's last step
  look_for_lost_annotations(now());
  // With its context work goes, and the last of it could not be seen to end.
  if (!failed_ && !context_is_closing()) session_.note_work_under_way(now());
  session_.end(now());
  if (parts_.sites != nullptr) {
    parts_.sites->finish(now(), longest_naming);
    record_call_sites();
  }
  record_clocks();
  TraceSummary summary = session_.summary(records_.dropped() + source_.lost());
  summary.cpu = cpu_time();
  const UnheardAnnotations unheard = source_.unheard_annotations();
  summary.annotations_refused += unheard.refused;
  summary.annotations_held_back = unheard.held_back;
  if (options_.live && parts_.trace != nullptr) show(now(), summary, summary.startup, summary.dropped_records);
  return summary;
}

}  // namespace weft
