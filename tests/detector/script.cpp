// See script.h.
#include "script.h"

#include <charconv>
#include <map>
#include <sstream>

namespace weft::testing {
namespace {

const std::map<std::string, EventKind> event_kinds{
#define EVENT(kind, number) {#kind, EventKind::kind},
#include "detector/event_kinds.def"
#undef EVENT
};

bool read_number(const std::string& text, std::uint64_t& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size();
}

// "3/4096": peer and bytes.
bool read_transfer(const std::string& text, std::int32_t& peer, std::uint64_t& bytes) {
  const std::size_t slash = text.find('/');
  std::uint64_t number = 0;
  if (slash == std::string::npos || !read_number(text.substr(0, slash), number)) return false;
  peer = static_cast<std::int32_t>(number);
  return read_number(text.substr(slash + 1), bytes);
}

// Equal text, equal signature.
std::uint64_t signature_of(const std::string& text) {
  std::uint64_t hash = 1469598103934665603u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

bool set_summary(GroupSummary& summary, const std::string& key, const std::string& value) {
  if (key == "send") {
    summary.sends = 1;
    return read_transfer(value, summary.send_peer, summary.sent_bytes);
  }
  if (key == "receive") {
    summary.receives = 1;
    return read_transfer(value, summary.receive_peer, summary.received_bytes);
  }
  summary.collectives = 1;
  summary.reduces = 1;
  return read_number(value, summary.collective_bytes);
}

// Of the schedule, as far as the framework has said it.
std::string describe(const Said& said) {
  std::string text;
  if (said.stage >= 0) text += " stage " + std::to_string(said.stage);
  if (said.chunk >= 0) text += " chunk " + std::to_string(said.chunk);
  if (said.microbatch >= 0) text += " microbatch " + std::to_string(said.microbatch);
  return text;
}

bool set_field(Event& event, const std::string& key, const std::string& value) {
  if (key == "signature") {
    event.summary.signature = signature_of(value);
    return true;
  }
  if (key == "send" || key == "receive" || key == "collective") return set_summary(event.summary, key, value);
  std::uint64_t number = 0;
  if (!read_number(value, number)) return false;
  if (key == "group")
    event.group = number;
  else if (key == "stream")
    event.stream = static_cast<StreamId>(number);
  else if (key == "ticket")
    event.ticket = static_cast<Ticket>(number);
  else if (key == "done")
    event.done_ticket = static_cast<Ticket>(number);
  else if (key == "captured" && event.kind == EventKind::group_issued)
    event.summary.captured = static_cast<Captured>(number);
  else if (key == "in_graph" && event.kind == EventKind::wait_issued)
    event.in_graph = static_cast<InGraph>(number);
  else if (key == "source" && event.kind == EventKind::wait_issued)
    event.awaited.stream = static_cast<StreamId>(number);
  else if (key == "place" && event.kind == EventKind::wait_issued)
    event.awaited.ticket = static_cast<Ticket>(number);
  else if (is_said(event.kind) && key == "number")
    event.saying.number = static_cast<std::int64_t>(number);
  else if (is_said(event.kind) && key == "chunk")
    event.saying.chunk = static_cast<std::int32_t>(number);
  else if (is_said(event.kind) && key == "thread")
    event.saying.thread = number;
  else if (key == "communicator")
    event.communicator = static_cast<CommunicatorId>(number);
  else
    return false;
  return true;
}

bool read_event(std::istringstream& words, std::uint64_t time, const std::string& kind, Event& event) {
  const auto found = event_kinds.find(kind);
  if (found == event_kinds.end()) return false;
  event = Event{};
  event.time = TimePoint{std::chrono::microseconds(time)};
  event.kind = found->second;
  if (event.kind == EventKind::group_issued) event.summary.send_peer = event.summary.receive_peer = -1;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || !set_field(event, word.substr(0, equals), word.substr(equals + 1))) return false;
  }
  return true;
}

// "group=7" of a wait: for the place behind that group, which a line before this one issued.
void name_awaited_group(const std::vector<Event>& before, Event& wait) {
  for (const Event& event : before)
    if (event.kind == EventKind::group_issued && event.group == wait.group)
      wait.awaited = {event.stream, event.done_ticket};
  wait.group = 0;
}

struct Repeat {
  std::uint64_t times = 0, every = 0, numbers = 0;
  std::size_t first = 0;
};

void append_repeats(std::vector<Event>& events, const Repeat& repeat) {
  const std::vector<Event> block(events.begin() + static_cast<std::ptrdiff_t>(repeat.first), events.end());
  for (std::uint64_t i = 1; i < repeat.times; ++i)
    for (Event event : block) {
      event.time += std::chrono::microseconds(i * repeat.every);
      const std::uint64_t more = i * repeat.numbers;
      if (event.group != 0) event.group += more;
      if (event.ticket != 0) event.ticket += static_cast<Ticket>(more);
      if (event.done_ticket != 0) event.done_ticket += static_cast<Ticket>(more);
      if (event.kind == EventKind::wait_issued && event.awaited.ticket != 0)
        event.awaited.ticket += static_cast<Ticket>(more);
      events.push_back(event);
    }
}

std::string microseconds(Duration time) {
  std::ostringstream out;
  out << static_cast<double>(time.count()) / 1000.0;
  return out.str();
}

std::string describe(const Bubble& bubble, bool closed) {
  std::ostringstream out;
  out << " " << bubble.id << " group " << bubble.group;
  if (closed) return out.str() + " length " + microseconds(bubble.closed - bubble.opened);
  out << " " << name_of(bubble.cause) << " " << name_of(bubble.pattern) << " ordinal " << bubble.slot.ordinal
      << " iteration " << bubble.iteration << describe(bubble.said);
  if (!bubble.forecast) return out.str() + " no forecast";
  const Forecast& f = *bubble.forecast;
  out << " forecast " << microseconds(f.low) << " " << microseconds(f.median) << " " << microseconds(f.high) << " of "
      << f.samples;
  return out.str();
}

}  // namespace

std::vector<Event> read_script(std::istream& in, std::string& error) {
  std::vector<Event> events;
  Repeat repeat;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string first, second;
    if (!(words >> first)) continue;
    if (first == "repeat" && words >> repeat.times >> repeat.every >> repeat.numbers) {
      repeat.first = events.size();
      continue;
    }
    if (first == "end") {
      append_repeats(events, repeat);
      continue;
    }
    std::uint64_t time = 0;
    Event event{};
    if (!read_number(first, time) || !(words >> second) || !read_event(words, time, second, event)) {
      error = "line " + std::to_string(number) + ": " + line;
      return {};
    }
    if (event.kind == EventKind::wait_issued && event.group != 0) name_awaited_group(events, event);
    events.push_back(event);
  }
  return events;
}

std::string describe(const Finding& finding) {
  const std::string time = microseconds(finding.time.time_since_epoch());
  switch (finding.kind) {
    case FindingKind::bubble_opened:
      return time + " opened" + describe(finding.bubble, false);
    case FindingKind::bubble_closed:
      return time + " closed" + describe(finding.bubble, true);
    case FindingKind::uncertain_time:
      return time + " uncertain for " + microseconds(finding.uncertain.ended - finding.uncertain.began) + ": " +
             finding.uncertain.why;
    case FindingKind::dark_time:
      return time + " dark for " + microseconds(finding.dark.ended - finding.dark.began);
    case FindingKind::iteration_ended:
      return time + " iteration " + std::to_string(finding.iteration.number) +
             (finding.iteration.said >= 0 ? " said " + std::to_string(finding.iteration.said) : "") + " of " +
             std::to_string(finding.iteration.groups) + " groups, length " +
             microseconds(finding.iteration.ended - finding.iteration.started) + ", idle " +
             microseconds(finding.iteration.idle);
    case FindingKind::rhythm_found:
      return time + " rhythm found, period " + std::to_string(finding.period);
    case FindingKind::rhythm_lost:
      return time + " rhythm lost, period " + std::to_string(finding.period);
    case FindingKind::note:
      return time + " note: " + finding.text;
    case FindingKind::anomaly:
      return time + " anomaly: " + finding.text;
  }
  return time;
}

}  // namespace weft::testing
