// See session.h.
#include "runner/policy/session.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "detector/dcheck.h"
#include "runner/policy/seconds.h"

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration sleep_when_quiet = milliseconds(1);
constexpr Duration sleep_when_waiting = microseconds(250);
// So long before an expected bubble the words are read at WEFT_POLL, and so long after it without a bubble no longer.
constexpr Duration near_before = microseconds(500);
constexpr Duration near_after = milliseconds(50);
constexpr Duration shortest_sleep = microseconds(5);
constexpr double part_beside_work = 0.5;  // of the slowdown budget, for copies beside the training's work

// A share in percent: "+1.25" with two digits after the point.
std::string signed_percent(double share) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, 100 * share, std::chars_format::fixed, 2).ptr;
  return (share < 0 ? "" : "+") + std::string(text, end);
}

std::string short_percent(double share) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, 100 * share, std::chars_format::general, 3).ptr};
}

std::string budget_not_kept(const SlowdownRecord& slowdown) {
  return "the slowdown budget of " + short_percent(slowdown.budget) +
         " % cannot be kept: " + signed_percent(slowdown.estimate) + " % (95 % interval " +
         signed_percent(slowdown.low) + " to " + signed_percent(slowdown.high) + " %)";
}

std::string not_beside_watching(const SlowdownRecord& slowdown, double watching) {
  return "the slowdown budget of " + short_percent(slowdown.budget) +
         " % leaves no room for filling beside watching: " + signed_percent(slowdown.estimate) + " % and at least " +
         signed_percent(watching) + " %; such iterations are not filled while that is so";
}

std::string late_slice(const LateSlices& late, const InFlight& in_flight) {
  return "a slice of " + std::to_string(in_flight.oldest_alone.count() / 1000) + " us did not end within " +
         std::to_string(late.watched().count() / 1000) + " us";
}

std::string held_up_slices(SliceQueue queue) {
  return "one hardware queue: " + std::to_string(LateSlices::most_held_up) + " slices in a row did not end " +
         (queue == SliceQueue::own ? "in their bubbles" : "while the host waited for the GPU") +
         ", against the answers of weft check";
}

std::string watching_costs(const WatchingRecord& watching) {
  return "watching alone costs more than the slowdown budget of " + short_percent(watching.budget) +
         " %: " + signed_percent(watching.estimate) + " % (95 % interval " + signed_percent(watching.low) + " to " +
         signed_percent(watching.high) + " %)";
}

DetectorOptions detector_options(const SessionOptions& options) {
  DetectorOptions detector = options.detector;
  if (options.dark) detector.goes_dark = &weft::is_dark;
  return detector;
}

Decision refused(std::uint64_t bubble, Unfilled reason) {
  Decision decision;
  decision.refusal = reason;
  decision.bubble = bubble;
  return decision;
}

std::string pause_for(const LateSlices& late) {
  return ": filling pauses until " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(late.rest()).count()) +
         " s after its end (pause " + std::to_string(late.pauses()) + " of " + std::to_string(LateSlices::most_pauses) +
         ")";
}

}  // namespace

Session::Session(const SessionOptions& options, RecordSink& records)
    : options_(options),
      records_(records),
      detector_(detector_options(options)),
      budget_(options.slowdown_budget),
      watching_(options.slowdown_budget, options.poll),
      has_job_(options.fills),
      filling_(options.fills),
      pause_{options.planner.between_slices, options.planner.between_slices},
      launching_(options.planner.launching),
      spinning_(options.spin) {}

void Session::observe(const Event& event) {
  if (options_.records_groups) groups_.observe(event, uncertainty_);
  if (event.kind != EventKind::operations_issued) {
    precision_.note(event, uncertainty_);
    accounts_.note(event);
    for (const Finding& finding : detector_.observe(event)) take(finding);
  }
  record_groups(event.time);
}

void Session::looked(TimePoint time) {
  detector_.looked(time);
  if (detector_.is_dark() || detector_.marks_only()) since_dark_ = 0;
  looked_before_ = std::exchange(looked_, time);
}

void Session::record_groups(TimePoint time) {
  for (GroupRecord group : groups_.take_ready()) {
    group.iteration = detector_.iteration_of(group.id);
    record(time, group);
  }
}

void Session::note_work_under_way(TimePoint now) {
  if (detector_.has_groups_under_way())
    note(now, "NCCL operations were under way when observing ended: their rest is in no share");
}

void Session::end(TimePoint now) {
  if (const auto since = detector_.dark_since(); since && *since < now) record(now, DarkTime{*since, now});
  groups_.give_up(now);
  record_groups(now);
}

void Session::take(const Finding& finding) {
  if (finding.kind == FindingKind::bubble_opened) {
    opened_within_ = precision_.of(finding.bubble.opened);
  } else if (finding.kind == FindingKind::bubble_closed) {
    Bubble bubble = finding.bubble;
    bubble.opened_within = opened_within_;
    bubble.closed_within = precision_.of(bubble.closed);
    bubble.left_out = filling_ && budget_.leaves_out(bubble);
    record(finding.time, bubble);
    if (bubble.id == last_filled_) filled_closed_ = {bubble.id, bubble.closed};
    accounts_.note_end_within(bubble.closed_within);
    count_unfilled(bubble);
    if (budget_.is_limited(bubble) && had_room(bubble)) budget_.had_room(bubble, bubble.id == last_filled_);
  } else if (finding.kind == FindingKind::uncertain_time) {
    UncertainRecord uncertain{finding.uncertain.began, finding.uncertain.ended, {}};
    uncertain.why = finding.uncertain.why;
    record(finding.time, uncertain);
  } else if (finding.kind == FindingKind::dark_time) {
    record(finding.time, finding.dark);
  } else if (finding.kind == FindingKind::iteration_ended) {
    record(finding.time, finding.iteration);
    watch(finding.iteration);
    take_iteration(finding.iteration);
  } else if (finding.kind == FindingKind::note) {
    record_anomaly(finding.time, finding.text, false, Audience::one_rank);
  } else if (finding.kind == FindingKind::anomaly) {
    trouble(finding.time, finding.text == nullptr ? "an unknown state" : finding.text, Audience::trace);
  }
}

// A bubble that was over before anybody could decide about it is decided about in hindsight: by the same rule, for the
// time at which it opened.
void Session::count_unfilled(const Bubble& bubble) {
  if (!has_job_ || bubble.id == last_filled_) return;
  Unfilled reason = Unfilled::other;
  if (filling_ && bubble.id == last_refused_)
    reason = refusal_;
  else if (filling_ && candidates_.count != 0)
    reason = consider(bubble.opened, bubble.opened, bubble, {}, candidates_).refusal.value_or(Unfilled::other);
  accounts_.note(reason);
}

// For a slice, at the first price, when it opened. One that is shorter than WEFT_POLL is mostly over before the next
// look.
bool Session::had_room(const Bubble& bubble) const {
  if (!filling_ || !may_launch() || candidates_.count == 0) return false;
  const bool is_refused = bubble.id == last_refused_ && bubble.id != last_filled_;
  if (is_refused && (refusal_ == Unfilled::one_queue || refusal_ == Unfilled::no_work)) return false;
  if (bubble.forecast->median <= options_.poll) return false;
  return plan(planner_options(budget_.first_price()), bubble.opened, bubble.opened, bubble, {}, candidates_).launch;
}

// The price of watching, with a fill job or without. A record at the end of dark iterations, and at each change.
void Session::watch(const Iteration& iteration) {
  since_dark_ = std::min(since_dark_ + 1, most_without_marks);
  if (!options_.dark) return;
  last_iteration_ = iteration.number;
  const bool may_have_fill = filling_ && part_of(iteration.turn).purpose == IterationPurpose::filled;
  const bool changed = !may_have_fill && !budget_.was_filled(iteration.number) && watching_.ended(iteration);
  budget_.leave_for_watching(watching_.least_cost());
  was_dark_ = was_dark_ || (iteration.dark && weft::is_dark(iteration.turn));
  if (!changed && (!was_dark_ || is_control(iteration.turn + 1))) return;
  was_dark_ = false;
  const WatchingRecord watching = watching_record();
  record(iteration.ended, watching);
  if (!changed) return;
  if (watching.looks == WatchingLooks::fewer)
    return record_anomaly(iteration.ended, watching_costs(watching) + ": Weft looks less often from now on", false,
                          Audience::every_rank);
  detector_.stay_dark();
  const std::string why = watching_costs(watching) + ": from now on only the ends of iterations are watched";
  trouble(iteration.ended, why, Audience::every_rank);
}

WatchingRecord Session::watching_record() const {
  WatchingRecord watching;
  watching.budget = budget_.budget();
  watching.looks = static_cast<WatchingLooks>(watching_.looks());
  watching.iteration = last_iteration_;
  const std::optional<Slowdown> cost = watching_.cost();
  if (!cost) return watching;
  watching.estimate = cost->estimate;
  watching.low = cost->low;
  watching.high = cost->high;
  watching.dark = cost->control;
  watching.watched = cost->filled;
  return watching;
}

// Compares, and fills less when filling costs too much. A record at each change, and at the end of iterations without
// fill.
void Session::take_iteration(const Iteration& iteration) {
  last_iteration_ = iteration.number;
  if (!has_job_ || options_.slowdown_budget == Budget::unlimited || !filling_) return;
  const Budget::Change change = budget_.ended(iteration);
  const bool control_over = is_control(iteration.turn) && !is_control(iteration.turn + 1);
  if (change == Budget::Change::none && !control_over) return;
  const SlowdownRecord slowdown = slowdown_record(budget_.present());
  record(iteration.ended, slowdown);
  // The end line is of the longest rhythm, so is the reason.
  if (change == Budget::Change::stop) end_filling(iteration.ended, budget_not_kept(slowdown_record(budget_.longest())));
  if (change == Budget::Change::less && slowdown.share == 0)
    record_anomaly(iteration.ended, budget_not_kept(slowdown) + ": such iterations are not filled", false,
                   Audience::trace);
  if (change == Budget::Change::held && !std::exchange(said_held_, true))
    record_anomaly(iteration.ended, not_beside_watching(slowdown, watching_.least_cost()), false, Audience::trace);
}

SlowdownRecord Session::slowdown_record(const Budget::State& state) const {
  SlowdownRecord slowdown;
  slowdown.budget = budget_.budget();
  slowdown.share = state.share;
  slowdown.iteration = last_iteration_;
  if (!state.slowdown) return slowdown;
  slowdown.estimate = state.slowdown->estimate;
  slowdown.low = state.slowdown->low;
  slowdown.high = state.slowdown->high;
  slowdown.control = state.slowdown->control;
  slowdown.filled = state.slowdown->filled;
  return slowdown;
}

void Session::finished(const SliceRecord& slice) {
  learn(slice);
  record(slice.finished, slice);
}

// It is late, and outlasts bubbles, as a slice does.
void Session::moved(const MoveRecord& move) {
  SliceRecord slice;
  slice.bubble = move.bubble;
  slice.launched = move.launched;
  slice.finished = move.finished;
  slice.alone = move.alone;
  learn(slice);
  record(move.finished, move);
}

void Session::learn(const SliceRecord& slice) {
  late_.finished(slice.finished);
  if (slice.bubble == 0) return;  // beside work, where all is late
  learn_overrun(slice);
  learn_lateness(slice);
}

void Session::look(TimePoint now, const FillView& view) {
  learn_pause(now);
  again_.reset();
  may_wait_ = view.may_wait;
  spin(now);
  if (!filling_) return;
  const bool shared = view.fillable != Fillable::any;
  const SliceQueue queue = shared                        ? SliceQueue::only
                           : options_.detector.one_queue ? SliceQueue::own
                                                         : SliceQueue::several;
  switch (late_.look(now, detector_.open_bubble().has_value(), view.in_flight, queue)) {
    case LateSlices::Change::held_up:
      return end_filling(now, held_up_slices(queue));
    case LateSlices::Change::paused:
      return record_anomaly(now, late_slice(late_, view.in_flight) + pause_for(late_), false, Audience::every_rank);
    case LateSlices::Change::stop:
      return end_filling(now, late_slice(late_, view.in_flight));
    case LateSlices::Change::resumed:
      return record_anomaly(now, "filling goes on after a late slice, one slice at a time at first", false,
                            Audience::trace);
    case LateSlices::Change::none:
      return;
  }
}

// The detector tells of an opening when the next event comes. Where nothing is filled nothing is gained.
void Session::spin(TimePoint now) {
  const std::optional<Bubble> bubble = detector_.open_bubble();
  const bool is_filled = bubble && filling_ && bubble->id == last_filled_ && !late_.paused() &&
                         !is_guarded(*bubble, now, budget_.guard(*bubble));
  if (is_filled && watching_.looks() == Watching::Looks::all && budget_.may_fill(*bubble))
    spinning_.is_open(*bubble, now);
  else
    spinning_.none_is_open(now);
  spins_ = spinning_.at(now);
}

Decision Session::decide(TimePoint now, const FillView& view) {
  again_.reset();
  if (!filling_) return {};
  if (!view.ready) {
    if (view.in_flight.slices != 0) again_ = look_for_end(now, view.in_flight.first_ends);
    if (view.awaits_work) note_lack_of_work();
    return {};
  }
  WEFT_DCHECK(now >= last_decision_ && view.in_flight.slices < options_.planner.most_in_flight);
  last_decision_ = now;
  candidates_ = view.candidates;
  const std::optional<Bubble> bubble = detector_.open_bubble();
  Decision decision = consider(now, looked_, bubble, view.in_flight, view.candidates);
  const bool planned = decision.refusal == Unfilled::no_room || decision.refusal == Unfilled::no_forecast;
  if ((decision.launch || planned) && !may_launch_in_one_queue(view))
    decision = refused(decision.bubble, Unfilled::one_queue);
  if (decision.launch) wanted_ = view.candidates.alone[decision.candidate];
  again_ = decision.again;
  // That a bubble has no forecast is a reason only where there comes no other one. The only hardware queue forbids it
  // whatever the planner thinks.
  const bool replaces = refusal_ == Unfilled::no_forecast || decision.refusal == Unfilled::one_queue;
  if (decision.refusal && (decision.bubble != last_refused_ || replaces)) {
    last_refused_ = decision.bubble;
    refusal_ = *decision.refusal;
  }
  return decision;
}

// Another reason stays: with work it would have been one, too.
void Session::note_lack_of_work() {
  const std::optional<Bubble>& bubble = detector_.open_bubble();
  if (!bubble || bubble->id == last_refused_) return;
  last_refused_ = bubble->id;
  refusal_ = Unfilled::no_work;
}

// A slice has ended at any time since the look before.
TimePoint Session::earliest_end(const SliceRecord& slice) const {
  return std::clamp(looked_before_, std::min(slice.launched, slice.finished), slice.finished);
}

// By how much it has outlasted its bubble, beyond those before it.
void Session::learn_overrun(const SliceRecord& slice) {
  if (slice.bubble != filled_closed_.bubble) return;
  const TimePoint earliest = earliest_end(slice);
  const TimePoint end = earliest + (slice.finished - earliest) / 2;
  if (end <= filled_closed_.until) return;
  budget_.overran(end - filled_closed_.until);
  filled_closed_.until = end;
}

// Up by seven steps, down by one: it stays where one look in eight is later. A thread that gets no processor in time
// makes pauses that short slices are not worth, and one look that is very late says little about the others.
void Session::learn_pause(TimePoint now) {
  constexpr int steps = 64, up = 7;
  constexpr Duration least = microseconds(1), most = milliseconds(1);
  if (!again_ || now < *again_) return;
  Duration& pause = spins_ ? pause_.spinning : pause_.asleep;
  const Duration step = pause / steps;
  pause = std::clamp(now - *again_ > pause ? pause + up * step : pause - step, least, most);
}

// `took`: the call that launches a slice. On an idle GPU it begins a moment after that.
void Session::learn_launching(Duration took) {
  constexpr int weight = 16;
  constexpr Duration begins_after = microseconds(2), longest = microseconds(100);
  launching_ += (std::clamp(took, Duration{}, longest) + begins_after - launching_) / weight;
}

// Where the GPU or its memory is shared with what Weft does not see, slices take longer than on the idle GPU, and so
// does an overrun. A slice has ended at any time since the look before: the farther that is away, the less is learnt.
void Session::learn_lateness(const SliceRecord& slice) {
  constexpr double weight = 1.0 / 16;
  constexpr Duration longest_lateness = milliseconds(5), precise = microseconds(20);
  const TimePoint should = std::max(slice.launched, last_end_) + slice.alone;
  const TimePoint earliest = earliest_end(slice);
  // Where it may have ended when it should it has.
  const TimePoint from = std::clamp(should, earliest, slice.finished);
  const double counts = weight * std::min(1.0, seconds(precise) / std::max(seconds(slice.finished - earliest), 1e-9));
  const auto learn = [&](Duration& known, TimePoint ended) {
    const Duration late = std::clamp(ended - should, Duration{}, longest_lateness);
    known += std::chrono::duration_cast<Duration>((late - known) * counts);
  };
  learn(lateness_, from + (slice.finished - from) / 2);
  learn(surely_late_, from);
  last_end_ = from;
}

// By anything but what knows of the bubble: planner and budget.
bool Session::may_launch() const {
  return !budget_.is_used_up() && !late_.paused() && !detector_.capture_is_open();
}

// Behind anything but what runs, a slice waits in the only queue, and with it all that the main job launches next.
bool Session::may_launch_in_one_queue(const FillView& view) const {
  if (view.fillable == Fillable::any) return true;
  if (view.in_flight.slices != 0 || !view.nothing_enqueued) return false;
  const Enqueued enqueued = detector_.enqueued_while_host_waits();
  return enqueued == Enqueued::groups || (enqueued == Enqueued::waits && view.fillable == Fillable::host_waits);
}

PlannerOptions Session::planner_options(double price) const {
  PlannerOptions options = options_.planner;
  options.price = price;
  options.between_slices = spins_ ? pause_.spinning : pause_.asleep;
  options.launching = launching_;
  options.lateness = lateness_;
  options.surely_late = surely_late_;
  if (late_.careful() || !may_wait_) options.most_in_flight = 1;
  return options;
}

// The one rule. A reason that would keep the bubble empty in any case comes first.
Decision Session::consider(TimePoint now, TimePoint seen, const std::optional<Bubble>& bubble,
                           const InFlight& in_flight, const Candidates& candidates) const {
  const PlannerOptions options = planner_options(bubble ? budget_.price(bubble->rhythm) : options_.planner.price);
  if (bubble && budget_.is_used_up()) return refused(bubble->id, Unfilled::held_back);
  const Duration guard = bubble ? budget_.guard(*bubble) : Duration{};
  Decision decision = plan(options, now, seen, bubble, in_flight, candidates, guard);
  if (!bubble || decision.refusal) return decision;
  if (!budget_.may_fill(*bubble)) return refused(bubble->id, Unfilled::held_back);
  if (late_.paused() || detector_.capture_is_open()) return refused(bubble->id, Unfilled::other);
  return decision;
}

bool Session::leaves_out() const {
  const std::optional<Bubble> bubble = detector_.open_bubble();
  return filling_ && (detector_.is_dark() || (bubble && budget_.leaves_out(*bubble)));
}

BubbleRoom Session::room_for(TimePoint now, const Candidates& candidates) const {
  const std::optional<Bubble> bubble = detector_.open_bubble();
  if (!filling_ || !bubble) return {};
  // Of a bubble that is not to be filled, whatever its length, nothing is known.
  if (!may_launch() || !budget_.may_fill(*bubble)) return {};
  const Decision decision = consider(now, looked_, bubble, {}, candidates);
  return {bubble->iteration, decision.launch || decision.refusal == Unfilled::no_room, decision.launch};
}

void Session::launched(Duration took) {
  late_.launched(wanted_, took);
  const std::optional<Bubble> bubble = detector_.open_bubble();
  WEFT_DCHECK(bubble && filling_ && !late_.paused() && !detector_.capture_is_open());
  if (!bubble) return;
  learn_launching(took);
  last_filled_ = bubble->id;
  budget_.launched(bubble->iteration);
}

// Without a rhythm nobody knows which iterations are compared.
bool Session::may_copy_beside_work(TimePoint now, const FillView& view, Duration alone) const {
  if (!filling_ || view.in_flight.slices != 0 || view.fillable != Fillable::any || detector_.open_bubble())
    return false;
  if (late_.paused() || detector_.capture_is_open() || detector_.is_dark() || budget_.is_used_up()) return false;
  if (!Budget::is_limit(budget_.budget())) return budget_.budget() == Budget::unlimited;
  const std::uint64_t turn = detector_.running_turn();
  if (turn == 0 || is_control(turn) || is_control(turn + 1)) return false;
  return credit_beside_work(now, alone) >= seconds(alone);
}

// Saved up for a second at most, or for one copy: of a long time without any not all is spent in one iteration.
double Session::credit_beside_work(TimePoint now, Duration alone) const {
  const double rate = part_beside_work * budget_.budget();  // and so of a second
  const double most = std::max(rate, seconds(alone));
  return std::min(most, beside_work_.credit + rate * seconds(now - std::min(beside_work_.since, now)));
}

void Session::launched_beside_work(TimePoint now, Duration alone) {
  if (Budget::is_limit(budget_.budget())) beside_work_ = {now, credit_beside_work(now, alone) - seconds(alone)};
  late_.launched(alone, {});
  budget_.overran(alone);
  budget_.launched(last_iteration_ + 1);
}

TimePoint Session::next_look(TimePoint now, const Pending& pending) const {
  if (spinning_.at(now)) return now;
  if (detector_.is_dark() && !pending.wanted && pending.slices == 0) return next_look_in_the_dark(now);
  constexpr int fewer = 4;
  const TimePoint poll = now + options_.poll * (watching_.looks() == Watching::Looks::all ? 1 : fewer);
  const bool said = detector_.bubble_is_said() && detector_.wants_answers();
  if (pending.wanted || pending.slices != 0 || said || detector_.open_bubble())
    return again_ ? std::clamp(*again_, now + shortest_sleep, poll) : poll;
  TimePoint next = now + (pending.markers ? sleep_when_waiting : sleep_when_quiet);
  const std::optional<TimePoint> expected = detector_.next_expected_bubble();
  if (expected && now < *expected + near_after) next = std::min(next, std::max(poll, *expected - near_before));
  return next;
}

// At WEFT_POLL only while its end is near: else the lengths of dark iterations would be multiples of a sleep.
TimePoint Session::next_look_in_the_dark(TimePoint now) const {
  constexpr double near_end = 0.05;
  const std::optional<TimePoint> end = detector_.expected_end();
  const auto since = detector_.dark_since();
  if (!end || !since) return now + sleep_when_quiet;
  const TimePoint near = *end - std::chrono::duration_cast<Duration>((*end - std::min(*since, *end)) * near_end);
  if (now < near) return std::min(now + sleep_when_quiet, near);
  return now + (now < *end + near_after ? options_.poll : sleep_when_quiet);
}

void Session::job_ended(TimePoint now, std::uint32_t job, bool failed, std::string_view why, bool others) {
  JobRecord ended = accounts_.record_of(job);
  ended.event = failed ? JobEvent::failed : JobEvent::done;
  ended.why = why;
  record(now, ended);
  if (failed && others) record_anomaly(now, why, false, Audience::every_rank);
}

void Session::end_filling(TimePoint now, std::string_view reason, Audience audience) {
  if (!filling_) return;
  filling_ = false;
  record_anomaly(now, reason, true, audience);
}

// A reason that would have ended filling has ended it also when there was nothing to fill with yet.
void Session::begin_filling(TimePoint now, const JobRecord& job) {
  record(now, job);
  if (has_job_) return;  // and filling goes on, or is over
  if (!trouble_.empty()) return no_filling(now, trouble_);
  has_job_ = filling_ = true;
}

void Session::no_filling(TimePoint now, std::string_view reason) {
  record_anomaly(now, reason, true, Audience::trace);
}

void Session::note(TimePoint now, std::string_view text) {
  record_anomaly(now, text, false, Audience::every_rank);
}

void Session::trouble(TimePoint now, std::string_view text, Audience where_nothing_is_filled) {
  if (trouble_.empty()) trouble_ = text;
  if (filling_) return end_filling(now, text);
  record_anomaly(now, text, false, where_nothing_is_filled);
}

void Session::record_anomaly(TimePoint time, std::string_view text, bool stops_filling, Audience audience) {
  AnomalyRecord anomaly;
  anomaly.text = text;
  anomaly.stops_filling = stops_filling;
  anomaly.audience = audience;
  record(time, anomaly);
}

Snapshot Session::snapshot() const {
  Snapshot now;
  const TraceSummary& totals = accounts_.totals();
  if (has_job_) now.filling = late_.paused() ? Snapshot::Filling::paused : Snapshot::Filling::fills;
  if (has_job_ && !filling_) now.filling = Snapshot::Filling::ended;
  now.share = budget_.present_share();
  now.iterations = totals.iterations;
  now.bubbles = totals.bubbles;
  now.slices = totals.slices;
  now.fill_units = totals.fill_units;
  now.idle = totals.idle;
  now.filled = totals.filled;
  now.open = detector_.open_bubble();
  return now;
}

TraceSummary Session::summary(std::uint64_t dropped_records) const {
  TraceSummary summary = accounts_.summary(dropped_records);
  summary.groups_thinned_out = groups_.thinned_out();
  summary.spun = spinning_.spent();
  summary.annotations_refused = detector_.refused_annotations();
  if (watching_.cost()) summary.watching = watching_record();
  if (has_job_ && options_.slowdown_budget != Budget::unlimited) summary.slowdown = slowdown_record(budget_.longest());
  return summary;
}

}  // namespace weft
