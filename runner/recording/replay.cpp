// See replay.h.
#include "runner/recording/replay.h"

#include <bit>
#include <tuple>
#include <type_traits>
#include <utility>

#include "detector/dcheck.h"
#include "runner/recording/fields.h"
#include "trace/write/lines.h"

namespace weft {
namespace {

// nullptr: there is no such call.
const char* name_of(Call call) {
  switch (call) {
#define INPUT(name, number) \
  case Call::name:          \
    return #name;
#define ANSWER(name, number) INPUT(name, number)
#include "runner/recording/calls.def"
#undef INPUT
#undef ANSWER
  }
  return nullptr;
}

bool is_answer(Call call) {
  switch (call) {
#define INPUT(name, number)
#define ANSWER(name, number) case Call::name:
#include "runner/recording/calls.def"
#undef INPUT
#undef ANSWER
    return true;
    default:
      return false;
  }
}

RecordingError cannot_be(Call call) {
  const char* const name = name_of(call);
  return RecordingError(
      "is damaged: " +
      (name == nullptr ? "call " + std::to_string(static_cast<int>(call)) : "a call of " + std::string(name)) +
      " says what cannot be");
}

template <class... Values>
void read(Call call, Take& entry, Values&... values) {
  (visit(entry, values), ...);
  if (!entry.good()) throw cannot_be(call);
}

// As set-up or a test may give them. A stranger's file is not to take all memory, nor to break a rule of the session.
bool are_sound(const SessionOptions& options) {
  constexpr Duration shortest_poll = std::chrono::microseconds(5), longest_poll = std::chrono::seconds(10);
  constexpr std::size_t most_groups = std::size_t{1} << 20;
  const DetectorOptions& detector = options.detector;
  const auto is_short = [](Duration length) { return length >= Duration{} && length <= std::chrono::seconds(10); };
  return options.poll >= shortest_poll && options.poll <= longest_poll && options.planner.price >= 0 &&
         is_short(options.planner.between_slices) && is_short(options.planner.launching) && options.spin >= 0 &&
         options.spin <= 1 && options.planner.most_in_flight >= 1 && options.planner.most_in_flight <= 64 &&
         options.slowdown_budget >= 0 && detector.longest_period >= 1 && detector.longest_period <= most_groups &&
         detector.history >= 1 && detector.history <= 64 && detector.warm_up_iterations <= most_groups &&
         std::has_single_bit(detector.most_groups) && detector.most_groups <= most_groups;
}

std::string time_text(TimePoint time) {
  return std::to_string(time.time_since_epoch().count()) + " ns";
}

std::string text_of(const Decision& decision) {
  std::string text = decision.launch ? "launch slice " + std::to_string(decision.candidate) : "launch nothing";
  text += decision.bubble == 0 ? ", no bubble is open" : " in bubble " + std::to_string(decision.bubble);
  if (decision.refusal) text += ": " + std::string(unfilled_names[static_cast<std::size_t>(*decision.refusal)]);
  if (decision.again) text += "; ask again at " + time_text(*decision.again);
  return text;
}

std::string line_of(const TraceSummary& summary) {
  std::string line;
  append_summary(line, summary);
  return line.substr(0, line.size() - 1);
}

// A parameter of a call, as it is read.
template <class Parameter>
using Given =
    std::conditional_t<std::is_same_v<Parameter, std::string_view>, RecordText, std::remove_cvref_t<Parameter>>;

}  // namespace

void Replay::Heard::push(const Record& record) noexcept {
  next_.push(record);
  if (replay_.is_passed_) return;
  ++replay_.result_.records;
  replay_.answers_.push_back({Call::record, hash_of(record), {}, {}});
}

Replay::Replay(RecordSink& records, bool same_layout, CallSink* again)
    : same_layout_(same_layout), again_(again), heard_(*this, records) {}

void Replay::take(std::string_view calls) {
  Take entry(state_, calls);
  try {
    while (!entry.at_end()) take_entry(static_cast<Call>(entry.byte()), entry);
  } catch (const BrokenInvariant& broken) {
    throw ReplayFault(place(), broken.what());
  }
}

void Replay::take_entry(Call call, Take& entry) {
  if (name_of(call) == nullptr || (is_answer(call) && !session_)) throw cannot_be(call);
  if (!is_answer(call)) {
    check_all_heard();
    call_ = call;
    ++result_.calls;
    events_before_ = result_.events;
    answers_.clear();
    compared_ = 0;
    differs_ = false;
    return make_call(call, entry);
  }
  Answer answer{call, {}, {}, {}};
  if (call == Call::record) read(call, entry, answer.record);
  if (call == Call::decision) read(call, entry, answer.decision);
  if (call == Call::next) read(call, entry, answer.next);
  compare(answer);
}

void Replay::make_call(Call call, Take& entry) {
  const auto given = [&]<class... Values>(void (RecordedSession::*function)(Values...)) {
    std::tuple<Given<Values>...> values;
    std::apply(
        [&](auto&... each) {
          read(call, entry, each...);
          (session().*function)(each...);
        },
        values);
  };
  switch (call) {
    case Call::options:
      return begin(entry);
    case Call::observe:
      return observe(entry);
    case Call::looks_within:
      return given(&RecordedSession::looks_within);
    case Call::looked:
      return given(&RecordedSession::looked);
    case Call::interrupted:
      return given(&RecordedSession::interrupted);
    case Call::finished:
      return given(&RecordedSession::finished);
    case Call::moved:
      return given(&RecordedSession::moved);
    case Call::look:
      return given(&RecordedSession::look);
    case Call::decide:
      return decide(entry);
    case Call::launched:
      return launched(entry);
    case Call::launched_beside_work:
      return given(&RecordedSession::launched_beside_work);
    case Call::next_look:
      return next_look(entry);
    case Call::job_ended:
      return given(&RecordedSession::job_ended);
    case Call::end_filling:
      return given(&RecordedSession::end_filling);
    case Call::begin_filling:
      return given(&RecordedSession::begin_filling);
    case Call::no_filling:
      return given(&RecordedSession::no_filling);
    case Call::note:
      return given(&RecordedSession::note);
    case Call::trouble:
      return given(&RecordedSession::trouble);
    case Call::note_work_under_way:
      return given(&RecordedSession::note_work_under_way);
    case Call::end:
      return given(&RecordedSession::end);
    case Call::pass:
      is_passed_ = true;
      given(&RecordedSession::pass);
      is_passed_ = false;
      return;
    case Call::record:
    case Call::decision:
    case Call::next:
      return;
  }
}

void Replay::begin(Take& entry) {
  SessionOptions options;
  read(Call::options, entry, options);
  if (session_ || !are_sound(options)) throw cannot_be(Call::options);
  options.detector.checks_kept = true;
  session_ = std::make_unique<RecordedSession>(options, heard_, again_);
}

void Replay::observe(Take& entry) {
  Event event{};
  read(Call::observe, entry, event);
  session().observe(event);
  ++result_.events;
}

void Replay::launched(Take& entry) {
  Duration took{};
  read(Call::launched, entry, took);
  ++result_.launches;
  if (std::exchange(would_launch_, false)) session().launched(took);
}

void Replay::decide(Take& entry) {
  TimePoint now{};
  FillView view;
  read(Call::decide, entry, now, view);
  ++result_.decisions;
  const Decision decision = session().decide(now, view);
  would_launch_ = decision.launch;
  answers_.push_back({Call::decision, {}, decision, {}});
}

void Replay::next_look(Take& entry) {
  TimePoint now{};
  Pending pending;
  read(Call::next_look, entry, now, pending);
  answers_.push_back({Call::next, {}, {}, session().next_look(now, pending)});
}

RecordedSession& Replay::session() {
  if (!session_) throw cannot_be(call_);
  return *session_;
}

bool Replay::are_equal(const Answer& one, const Answer& other) const {
  if (one.call != other.call) return false;
  const Decision &left = one.decision, &right = other.decision;
  return one.record.kind == other.record.kind && (!same_layout_ || one.record.fields == other.record.fields) &&
         one.next == other.next && left.launch == right.launch && left.candidate == right.candidate &&
         left.again == right.again && left.refusal == right.refusal && left.bubble == right.bubble;
}

namespace {

template <class Answer>
std::string described(const Answer& answer) {
  if (answer.call == Call::decision) return text_of(answer.decision);
  if (answer.call == Call::next) return "look again at " + time_text(answer.next);
  return "a record of kind " + std::string(record_kind_names[static_cast<std::size_t>(answer.record.kind)]);
}

}  // namespace

void Replay::compare(const Answer& recorded) {
  if (compared_ == answers_.size()) return differ(described(recorded), "no such answer");
  const Answer& now = answers_[compared_++];
  if (are_equal(recorded, now)) return;
  const bool only_fields =
      recorded.call == Call::record && now.call == Call::record && recorded.record.kind == now.record.kind;
  differ(described(recorded), described(now) + (only_fields ? ", with other values" : ""));
}

void Replay::check_all_heard() {
  if (compared_ < answers_.size()) differ("no such answer", described(answers_[compared_]));
}

// Of each call the first one counts.
void Replay::differ(const std::string& recorded, const std::string& now) {
  if (std::exchange(differs_, true)) return;
  ++result_.differences;
  if (!result_.first) result_.first = {place(), recorded, now};
}

ReplayPlace Replay::place() const {
  return {result_.calls, events_before_, state_.time, name_of(call_)};
}

void Replay::end_calls(bool is_cut) {
  if (!session_ && !is_cut) throw RecordingError("has no calls");
  if (!is_cut) check_all_heard();
  answers_.clear();
  compared_ = 0;
  differs_ = false;
}

TraceSummary Replay::summary(const TraceSummary& recorded) try {
  TraceSummary summary = session().summary(recorded.dropped_records);
  summary.fill_stream = recorded.fill_stream;
  summary.fill_confinement = recorded.fill_confinement;
  summary.cpu = recorded.cpu;
  summary.annotations_refused = recorded.annotations_refused;
  summary.annotations_held_back = recorded.annotations_held_back;
  const std::string then = line_of(recorded), now = line_of(summary);
  if (same_layout_ && then != now) {
    call_ = Call::end;
    events_before_ = result_.events;
    differ(then, now);
  }
  return summary;
} catch (const BrokenInvariant& broken) {
  throw ReplayFault(place(), broken.what());
}

}  // namespace weft
