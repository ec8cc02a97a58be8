// The detector: takes events apart and hands them to its parts (streams, rhythm, iterations, slots), and says when a
// bubble opens and closes. See detector.h for who calls it and README.md for the rules.
#include "detector/detector.h"

#include <algorithm>
#include <vector>

#include "detector/implementation.h"

namespace weft {
namespace {

constexpr const char* parts_of_longer_ones =
    "iterations: some that were counted may be parts of longer ones; from now on a collective bounds them that comes "
    "seldomer and moves more";

constexpr const char* unseen_ends =
    "iterations: some ended where more was outstanding on a stream than is followed; they are not counted";

constexpr const char* equal_parts =
    "iterations: each that was counted holds several equal parts, and no gradients are added up at its end: each part "
    "may be an iteration";

Cause cause_of(const GroupSummary& summary) {
  if (summary.receives > 0) return Cause::receive;
  if (summary.sends > 0) return Cause::send;
  return summary.collectives > 0 ? Cause::collective : Cause::unknown;
}

Group group_of(const Event& event, std::uint64_t position) {
  const GroupSummary& summary = event.summary;
  Group group;
  group.id = event.group;
  group.stream = event.stream;
  group.start_known = event.ticket != 0;
  group.nothing_launched = event.nothing_launched;
  // Without a marker behind it nothing will ever be known of its end. It is not waited for.
  group.done = event.done_ticket == 0;
  group.done_ticket = event.done_ticket;
  group.send_only = summary.sends > 0 && summary.receives == 0 && summary.collectives == 0;
  group.captured = summary.captured;
  group.cause = cause_of(summary);
  group.slot.communicator = event.communicator;
  group.slot.send_peer = summary.send_peer;
  group.slot.receive_peer = summary.receive_peer;
  group.slot.bytes = summary.sent_bytes + summary.received_bytes + summary.collective_bytes;
  group.position = position;
  return group;
}

Answer answer_in(const Event& event) {
  if (event.kind == EventKind::stream_dry) return {StreamAnswer::dry, event.ticket, event.done_ticket, event.order};
  if (event.kind == EventKind::stream_busy) return {StreamAnswer::busy, event.ticket, 0, event.order};
  return {StreamAnswer::unknown};
}

}  // namespace

std::span<const Finding> Detector::Implementation::observe(const Event& event) {
  findings_.clear();
  now_ = std::max(now_, event.time);
  if (open_ && event.kind == EventKind::stream_dry && streams_.ran_unseen(event.stream, answer_in(event)))
    leave_out_look();
  announce();
  dispatch(event);
  if (event.more_follow) return findings_;  // one verdict for all answers of a look
  look_for_losses();
  look_at_dark();
  update_bubble();
  return findings_;
}

void Detector::Implementation::dispatch(const Event& event) {
  if (event.order != StreamOrder::none) streams_.set_order(event.stream, event.order);
  switch (event.kind) {
    case EventKind::group_issued:
      return group_issued(event);
    case EventKind::wait_issued:
      return streams_.wait_issued(event);
    case EventKind::mark_issued:
      return streams_.mark_issued(event);
    case EventKind::launch_noted:
      return streams_.launch_noted(event.stream, event.ticket);
    case EventKind::marks_held_back:
      return streams_.marks_held_back(event.stream, event.ticket, false);
    case EventKind::copy_held_back:
      return streams_.marks_held_back(event.stream, event.ticket, true);
    case EventKind::order_unsure:
      return streams_.order_is_unsure();
    case EventKind::legacy_used:
      return streams_.legacy_used(event.ticket);
    case EventKind::graph_wait_moved:
      return streams_.graph_wait_moved();
    case EventKind::context_waits:
      return streams_.context_waits(event);
    case EventKind::host_wait_begun:
      return streams_.host_wait_begun(event.stream);
    case EventKind::host_wait_ended:
      return streams_.host_wait_ended(event.stream);
    case EventKind::host_still:
    case EventKind::host_acts:
      return streams_.host_is_still(event.kind == EventKind::host_still && issued_ != 0);
    case EventKind::queues_shared:
      return streams_.queues_are_shared();
    case EventKind::capture_begun:
      ++captures_;
      return;
    case EventKind::capture_ended:
      if (captures_ > 0) --captures_;
      return;
    case EventKind::communicator_aborted:
      return communicator_aborted(event.communicator);
    case EventKind::stream_destroyed:
      return streams_.stream_destroyed(event.stream, event.ticket);
    case EventKind::stream_abandoned:
      return streams_.stream_abandoned(event.stream, event.ticket);
    case EventKind::group_started:
      if (groups_.find(event.group) == nullptr) anomaly("the start of a group that is not known");
      return streams_.group_started(event.group);
    case EventKind::group_done:
      return group_done(event.group);
    case EventKind::stream_dry:
    case EventKind::stream_busy:
    case EventKind::stream_unknown:
      return streams_.answered(event.stream, answer_in(event));
    case EventKind::wait_reached:
    case EventKind::wait_passed:
      if (!streams_.marker_reached(event.stream, event.ticket)) anomaly("a marker that is not known was reached");
      return;
    case EventKind::said_iteration_begun:
    case EventKind::said_iteration_ended:
      return iteration_said(event);
    case EventKind::said_stage:
      return refused(sayings_.stage(event.saying));
    case EventKind::said_microbatch_begun:
      return refused(sayings_.microbatch_begun(event.saying));
    case EventKind::said_microbatch_ended:
      return refused(sayings_.microbatch_ended(event.saying));
    case EventKind::said_bubble_begun:
    case EventKind::said_bubble_ended:
      return bubble_said(event);
    case EventKind::operations_issued:
    case EventKind::none:
      return;
  }
}

void Detector::Implementation::group_issued(const Event& event) {
  const std::uint64_t position = issued_++;
  report_host_waits();
  latest_is_marked_ = event.done_ticket != 0;
  any_is_marked_ = any_is_marked_ || latest_is_marked_;
  give_up_bubble(sayings_.group_issued());
  follow_sayings();
  const Rhythm::Change change = follow_rhythm(event);
  const std::optional<std::uint64_t> over = bounds_.observe(event);
  if (iterations_.bounded() && !iterations_.said() && bounds_.key() != iterations_.key()) {
    rhythm_lost(iterations_.length());
    rhythm_.begin_again(issued_);
  }
  if (bounds_.gave_way() && iterations_.some_were_lost() && !iterations_.said()) note(parts_of_longer_ones);
  const bool was_sure = iterations_.sure();
  const std::optional<Iteration> ended = iterations_.group_issued(rhythm_, bounds_, event.time, event, over);
  if (ended) iteration_over(*ended, event.done_ticket != 0);
  if (const Group* forgotten = groups_.displaced_by(event.group)) streams_.lose_sight(*forgotten);
  Group& group = groups_.insert(group_of(event, position));
  group.said = sayings_.present();
  const bool bounded = iterations_.bounded();
  if (!bounded && leader_.bounds_take_over(rhythm_, bounds_, iterations_.sure(), over.has_value()))
    bounds_found(*over);
  else if (!bounded &&
           (change == Rhythm::Change::found || (over && !was_sure && iterations_.sure() && rhythm_.period() != 0)))
    rhythm_found();  // or it is known only now where in it an iteration begins
  else
    place(group);
  streams_.group_issued(group, event.ticket);
  if (group.captured == Captured::graph)
    note("captured step: a CUDA graph with NCCL operations is replayed; the time in which it runs is uncertain");
  if (group.captured == Captured::unseen_kernel)
    note(
        "unseen NCCL: kernels of an NCCL that is linked statically or renamed are launched; the time in which they run "
        "is uncertain");
  // Where nothing is marked iterations are known from when their groups are issued.
  if (group.done && any_is_marked_) iterations_.end_is_unseen(position);
  if (group.done && !any_is_marked_) pass(group, false);
}

// Where bounds lead nothing depends on the period, and to look for it costs most where there is none.
Rhythm::Change Detector::Implementation::follow_rhythm(const Event& event) {
  if (iterations_.bounded()) return Rhythm::Change::none;
  const Rhythm::Change change = rhythm_.observe(event.summary.signature, is_collective(shape_of(event)));
  if (change == Rhythm::Change::lost) rhythm_lost(rhythm_.lost_period());
  return change;
}

void Detector::Implementation::rhythm_lost(std::uint32_t period) {
  report(FindingKind::rhythm_lost);
  findings_.back().period = period;
  iterations_.rhythm_lost();
  table_ = 0;
}

void Detector::Implementation::rhythm_found() {
  iterations_.rhythm_found(rhythm_, bounds_);
  table_ = slots_.table_for(iterations_.key(), rhythm_.period());
  place_earlier();
}

void Detector::Implementation::bounds_found(std::uint64_t last) {
  if (iterations_.length() != 0) rhythm_lost(iterations_.length());
  iterations_.bounds_found(bounds_, last);
  table_ = slots_.table_for(iterations_.key(), longest_period_);
  place_earlier();
}

// Groups that were issued before, and bubbles that closed before, get their place in hindsight.
void Detector::Implementation::place_earlier() {
  groups_.for_each_pending([&](Group& group) { place(group); });
  for (std::size_t i = 0; i < remembered_.size(); ++i) {
    Remembered& bubble = remembered_[i];
    const Place place = iterations_.place(bubble.position);
    if (place.ordinal < 0 || bubble.table == table_) continue;
    slots_.add(table_, place.ordinal, bubble.length, bubble.piece);
    slots_.stand_in(table_, place.ordinal, place.earlier);
    bubble.table = table_;
  }
  report(FindingKind::rhythm_found);
  findings_.back().period = iterations_.length();
}

void Detector::Implementation::place(Group& group) {
  if (table_ == 0) return;
  const Place place = iterations_.place(group.position);
  if (place.ordinal < 0) return;
  slots_.stand_in(table_, place.ordinal, place.earlier);
  group.slot.ordinal = place.ordinal;
  group.iteration = place.iteration;
  group.turn = place.turn;
  group.rhythm = place.rhythm;
  group.ends_iteration = place.ends_iteration;
  group.table = table_;
}

void Detector::Implementation::group_done(GroupId id) {
  Group* group = groups_.find(id);
  if (group == nullptr) return anomaly("the end of a group that is not known");
  if (group->done) return;
  // Streams run in order: what was issued on this one before is over as well, even if its word is seen later.
  for (Group* earlier = streams_.first_pending(group->stream); earlier != nullptr && earlier->id < id;
       earlier = streams_.first_pending(group->stream))
    finish(*earlier);
  finish(*group);
}

void Detector::Implementation::finish(Group& group) {
  streams_.group_done(group.id);
  // The bubble that it ends belongs to the iteration that it may end.
  update_bubble();
  pass(group, true);
}

// It may end an iteration.
void Detector::Implementation::pass(const Group& group, bool idle_known) {
  std::optional<Iteration> ended = iterations_.group_done(group.position, place_of(group), now_);
  if (ended && ended->number != 0) iteration_over(*ended, idle_known);
  if (iterations_.unseen_ends() != 0) note(unseen_ends);
}

void Detector::Implementation::iteration_over(Iteration iteration, bool idle_known) {
  iteration.dark = dark_since_.has_value();
  iteration.idle_known = idle_known && !iteration.dark;
  if (iteration.dark) report_dark();
  look_for_parts(iteration);
  report(FindingKind::iteration_ended);
  findings_.back().iteration = iteration;
}

// Without data parallelism the only collective may be that of a log, every few iterations.
void Detector::Implementation::look_for_parts(const Iteration& iteration) {
  constexpr int enough = 3;
  const bool in_parts =
      iteration.number != 0 && iteration.parts > 1 && !iterations_.said() && !bounds_.have_gradients();
  in_parts_ = in_parts ? in_parts_ + 1 : 0;
  if (in_parts_ == enough) note(equal_parts);
}

void Detector::Implementation::communicator_aborted(CommunicatorId communicator) {
  groups_.for_each_pending([&](Group& group) {
    if (group.slot.communicator == communicator) finish(group);
  });
}

void Detector::Implementation::report(FindingKind kind) {
  Finding finding;
  finding.kind = kind;
  finding.time = now_;
  findings_.push_back(finding);
}

// A stream or group that a table has lost may still be running: from then on an idle GPU is only an opinion.
void Detector::Implementation::look_for_losses() {
  const std::uint64_t lost = groups_.forgotten() + streams_.dropped() + host_waits_.dropped();
  if (lost <= lost_) return;
  lost_ = lost;
  anomaly("more is outstanding than the detector has room for");
}

// Said once per kind of anomaly; the number of all is dropped().
void Detector::Implementation::anomaly(const char* text) {
  ++unknown_;
  say_once(FindingKind::anomaly, text);
}

// Worth knowing; nothing about the GPU is unknown for it.
void Detector::Implementation::note(const char* text) {
  say_once(FindingKind::note, text);
}

void Detector::Implementation::say_once(FindingKind kind, const char* text) {
  if (std::find(said_.begin(), said_.end(), text) != said_.end()) return;
  said_.push_back(text);
  report(kind);
  findings_.back().text = text;
}

Detector::Detector(const DetectorOptions& options) : implementation_(std::make_unique<Implementation>(options)) {}
Detector::~Detector() = default;
std::span<const Finding> Detector::observe(const Event& event) {
  return implementation_->observe(event);
}
bool Detector::wants_answers() const {
  return implementation_->streams().wants_answers();
}
std::optional<Answer> Detector::answer_of(StreamId stream) const {
  return implementation_->streams().answer_of(stream);
}
void Detector::to_ask(std::vector<StreamId>& streams) const {
  implementation_->streams().to_ask(streams);
}
void Detector::looked(TimePoint time) {
  implementation_->looked(time);
}
bool Detector::is_doubtful(StreamId stream) const {
  return implementation_->streams().is_doubtful(stream);
}
Enqueued Detector::enqueued_while_host_waits() const {
  return implementation_->streams().enqueued_while_host_waits();
}
bool Detector::capture_is_open() const {
  return implementation_->capture_is_open();
}
std::optional<Bubble> Detector::open_bubble() const {
  return implementation_->open_bubble();
}
std::optional<TimePoint> Detector::next_expected_bubble() const {
  return implementation_->next_expected_bubble();
}
std::uint64_t Detector::iteration_of(GroupId group) const {
  return implementation_->iteration_of(group);
}
SlotKey Detector::slot_of(GroupId group) const {
  return implementation_->slot_of(group);
}
bool Detector::is_dark() const {
  return implementation_->is_dark();
}
std::optional<TimePoint> Detector::dark_since() const {
  return implementation_->dark_since();
}

std::uint64_t Detector::running_turn() const {
  return implementation_->running_turn();
}

std::optional<TimePoint> Detector::expected_end() const {
  return implementation_->expected_end();
}
void Detector::stay_dark() {
  implementation_->stay_dark();
}
std::optional<std::uint64_t> Detector::marks_only() const {
  return implementation_->marks_only();
}
bool Detector::bubble_is_said() const {
  return implementation_->sayings().in_bubble();
}
bool Detector::has_groups_under_way() const {
  return implementation_->has_groups_under_way();
}
std::uint64_t Detector::refused_annotations() const {
  return implementation_->sayings().refused();
}
std::uint64_t Detector::dropped() const {
  return implementation_->dropped();
}

}  // namespace weft
