// Verdicts of trials: whom they are about, how they are written down, and the arithmetic of waiting for them.
#include "runner/fill/trial_verdict.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration since_boot) {
  return TimePoint(since_boot);
}

TEST(TrialKey, IsAnotherOneForEveryOtherSubject) {
  const std::vector<std::function<void(TrialSubject&)>> changes = {
      [](TrialSubject&) {},
      [](TrialSubject& subject) { subject.job = "a"; },
      [](TrialSubject& subject) { subject.node = "a"; },
      [](TrialSubject& subject) { subject.build = "a"; },
      [](TrialSubject& subject) { subject.path = "a"; },
      [](TrialSubject& subject) { subject.arguments = "a"; },
      [](TrialSubject& subject) { subject.gpu = "a"; },
      [](TrialSubject& subject) { subject.file_device = 1; },
      [](TrialSubject& subject) { subject.file_number = 1; },
      [](TrialSubject& subject) { subject.file_bytes = 1; },
      [](TrialSubject& subject) { subject.file_changed = 1; },
      [](TrialSubject& subject) { subject.memory = 1; },
      [](TrialSubject& subject) { subject.max_blocks = 1; },
      [](TrialSubject& subject) { subject.reserved = 1; },
      [](TrialSubject& subject) { subject.confine = 1; },
      [](TrialSubject& subject) { subject.slice_cap = 1; },
      [](TrialSubject& subject) { subject.asks_machine = 1; },
      [](TrialSubject& subject) { subject.wish = 1; },
      [](TrialSubject& subject) { subject.stream = 1; }};
  std::set<std::string> keys;
  for (const auto& change : changes) {
    TrialSubject subject;
    change(subject);
    const std::string key = trial_key(subject);
    EXPECT_EQ(key.size(), 32U);
    EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos) << key;
    EXPECT_EQ(trial_key(subject), key);
    keys.insert(key);
  }
  EXPECT_EQ(keys.size(), changes.size());
}

TEST(TrialNote, IsReadAsItWasWritten) {
  TrialNote note;
  note.started = at(77s);
  note.first_started = at(70s);
  EXPECT_EQ(parse_note(text_of(note)).started, at(77s));
  EXPECT_EQ(parse_note(text_of(note)).first_started, at(70s));
  EXPECT_FALSE(parse_note(text_of(note)).verdict);
  note.verdict = TrialVerdict{"", 1234ms};
  EXPECT_EQ(parse_note(text_of(note)).verdict->fault, "");
  EXPECT_EQ(parse_note(text_of(note)).verdict->preparation, 1234ms);
  EXPECT_EQ(parse_note(text_of(note)).verdict->found, "");
  note.verdict->found = "uph";
  EXPECT_EQ(parse_note(text_of(note)).verdict->found, "uph");
  EXPECT_FALSE(parse_note(text_of(note)).verdict->lacks_memory);
  note.verdict->lacks_memory = true;
  EXPECT_TRUE(parse_note(text_of(note)).verdict->lacks_memory);
  EXPECT_EQ(parse_note(text_of(note)).verdict->movable, 0U);
  note.verdict->movable = std::uint64_t{5} << 30;
  EXPECT_EQ(parse_note(text_of(note)).verdict->movable, std::uint64_t{5} << 30);
  note.verdict->fault = "fill job j.so: two\nlines";
  EXPECT_EQ(parse_note(text_of(note)).verdict->fault, "fill job j.so: two lines");
}

TEST(TrialNote, FitsHoweverLongTheFaultIs) {
  const TrialNote note{at(77s), at(77s), TrialVerdict{std::string(100'000, 'x'), 1s}};
  EXPECT_LE(text_of(note).size(), longest_note);
  EXPECT_TRUE(parse_note(text_of(note)).verdict);
}

TEST(TrialNote, HalfAVerdictIsNone) {
  const std::string whole = text_of({at(77s), at(77s), TrialVerdict{"fill job j.so: no", 1s}});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_note(whole.substr(0, size)).verdict) << size;
  EXPECT_FALSE(parse_note("weft trial 1" + whole.substr(whole.find('\n'))).verdict) << "of another version";
  const std::size_t marked = whole.find("movable ");
  EXPECT_FALSE(parse_note(whole.substr(0, marked) + whole.substr(whole.find('\n', marked) + 1)).verdict);
  EXPECT_FALSE(parse_note(std::string(2000, '\0')).verdict);
}

TEST(WaitBudget, IsSpentOnce) {
  WaitBudget budget(5s);
  EXPECT_EQ(budget.allowed(at(100s), at(100s)), 5s);
  budget.spend(3s);
  EXPECT_EQ(budget.allowed(at(200s), at(200s)), 2s);
  budget.spend(3s);
  EXPECT_EQ(budget.allowed(at(300s), at(300s)), 0s);
}

TEST(WaitBudget, DoesNotWaitForATrialThatIsAsOldAsTheBudget) {
  const WaitBudget budget(5s);
  EXPECT_EQ(budget.allowed(at(100s), at(104s)), 1s);
  EXPECT_EQ(budget.allowed(at(100s), at(105s)), 0s);
  EXPECT_EQ(budget.allowed(at(100s), at(190s)), 0s);
  EXPECT_EQ(budget.allowed(at(101s), at(100s)), 5s) << "begun a moment later";
}

}  // namespace
}  // namespace weft
