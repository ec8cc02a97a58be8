// See the header.
#include "runner/fill/trial_verdict.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace weft {
namespace {

constexpr std::string_view first_line = "weft trial 5";
constexpr std::string_view last_line = "end";
constexpr std::size_t longest_fault = 1024;

// FNV-1a.
std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return text = {};
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<std::int64_t> number_behind(std::string_view word, std::string_view line) {
  std::int64_t number = 0;
  if (!line.starts_with(word)) return std::nullopt;
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data() + word.size(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

std::string one_line(std::string text) {
  text.resize(std::min(text.size(), longest_fault));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::string trial_key(const TrialSubject& subject) {
  std::string all;
  const auto add = [&](const std::string& text) { all += std::to_string(text.size()) + ':' + text; };
  for (const std::string& text :
       {subject.job, subject.node, subject.build, subject.path, subject.arguments, subject.files, subject.gpu})
    add(text);
  for (const std::uint64_t number : {subject.file_device, subject.file_number, subject.file_bytes, subject.file_changed,
                                     subject.memory, subject.max_blocks, subject.reserved, subject.confine,
                                     subject.slice_cap, subject.asks_machine, subject.wish, subject.stream})
    add(std::to_string(number));
  char name[33];
  std::snprintf(name, sizeof name, "%016llx%016llx",
                static_cast<unsigned long long>(hash_of(all, 14695981039346656037u)),
                static_cast<unsigned long long>(hash_of(all, 11400714819323198485u)));
  return name;
}

std::string text_of(const TrialNote& note) {
  std::string text = std::string(first_line) + "\nstarted " + std::to_string(note.started.time_since_epoch().count()) +
                     "\nfirst_started " + std::to_string(note.first_started.time_since_epoch().count());
  if (note.verdict)
    text += "\npreparation " + std::to_string(note.verdict->preparation.count()) + "\nfound " + note.verdict->found +
            "\nlacks_memory " + (note.verdict->lacks_memory ? "1" : "0") + "\nmovable " +
            std::to_string(note.verdict->movable) + "\nfault " + one_line(note.verdict->fault) + "\n" +
            std::string(last_line);
  return text + "\n";
}

TrialNote parse_note(std::string_view text) {
  TrialNote note;
  if (take_line(text) != first_line) return note;
  const auto started = number_behind("started ", take_line(text));
  const auto first_started = number_behind("first_started ", take_line(text));
  if (!started || !first_started) return note;
  note.started = TimePoint(Duration(*started));
  note.first_started = TimePoint(Duration(*first_started));
  const auto preparation = number_behind("preparation ", take_line(text));
  const std::string_view found = take_line(text);
  const auto lacks_memory = number_behind("lacks_memory ", take_line(text));
  const auto movable = number_behind("movable ", take_line(text));
  const std::string_view fault = take_line(text);
  if (!preparation || !found.starts_with("found ") || !lacks_memory || !movable || *movable < 0 ||
      !fault.starts_with("fault ") || take_line(text) != last_line)
    return note;
  note.verdict =
      TrialVerdict{std::string(fault.substr(6)), Duration(*preparation), false,
                   std::string(found.substr(6)), *lacks_memory != 0,     static_cast<std::uint64_t>(*movable)};
  return note;
}

Duration WaitBudget::allowed(TimePoint started, TimePoint now) const {
  return std::clamp(started + total_ - now, Duration::zero(), left_);
}

void WaitBudget::spend(Duration waited) {
  left_ = std::max(left_ - waited, Duration::zero());
}

}  // namespace weft
