// Answers of weft check: kept and read again, damaged files, other machines, and how they decide the markers.
#include "runner/options/answers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runner/options/marking.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct AnswersTest : ::testing::Test {
  std::string folder = ::testing::TempDir() + "weft_answers_" + std::to_string(::getpid());
  Variables one{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
  Answers given;
  Answers read;
  std::string fault;

  void SetUp() override {
    given.machine = machine_of("A GPU (80 GB)", 13010, one);
    given[Asked::event] = Found::passes;
    given[Asked::write] = Found::holds;
  }
  void TearDown() override { fs::remove_all(folder); }
  void write(const std::string& text) { std::ofstream(answers_file(folder, given.machine)) << text; }
};

TEST_F(AnswersTest, AreKeptAndReadAgain) {
  ASSERT_EQ(keep_answers(folder + "/new", given), "");
  ASSERT_TRUE(read_answers(folder + "/new", given.machine, read, fault)) << fault;
  EXPECT_EQ(read.machine, given.machine);
  EXPECT_EQ(read.found, given.found);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder + "/new"), {}), 1) << "no draft is left";
}

TEST_F(AnswersTest, NobodyHasAskedAnotherMachine) {
  ASSERT_EQ(keep_answers(folder, given), "");
  for (const Machine& other : {machine_of("Another GPU", 13010, one), machine_of("A GPU (80 GB)", 13020, one),
                               machine_of("A GPU (80 GB)", 13010, {}),
                               machine_of("A GPU (80 GB)", 13010,
                                          {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}, {"CUDA_MPS_PIPE_DIRECTORY", "/x"}})}) {
    EXPECT_FALSE(read_answers(folder, other, read, fault));
    EXPECT_EQ(fault, "");
  }
}

TEST_F(AnswersTest, DamagedFilesAreRefusedWithAReason) {
  ASSERT_EQ(keep_answers(folder, given), "");
  const std::string good = text_of(given);
  std::string other = good;
  other.replace(other.find("13010"), 5, "12040");
  const std::pair<std::string, std::string> files[] = {{"", "it is not complete"},
                                                       {"{}\n", "line 1 is not understood"},
                                                       {good.substr(0, good.size() - 1), "it is not complete"},
                                                       {good + "more\n", "line 17 is not understood"},
                                                       {good.substr(0, good.find("queues")), "it is not complete"},
                                                       {other, "it is of another GPU, driver or environment"},
                                                       {std::string(10000, 'x'), "it is not complete"}};
  for (const auto& [text, why] : files) {
    write(text);
    fault.clear();
    EXPECT_FALSE(read_answers(folder, given.machine, read, fault));
    EXPECT_EQ(fault, "the answers of weft check in " + answers_file(folder, given.machine) + " are not used: " + why);
  }
}

TEST_F(AnswersTest, ThatCannotBeKeptSayWhy) {
  EXPECT_EQ(keep_answers("", given), "neither XDG_CACHE_HOME nor HOME is set");
  std::ofstream(folder) << "a file";
  EXPECT_NE(keep_answers(folder, given), "");
  EXPECT_NE(keep_answers(folder + "/below", given), "");
}

TEST_F(AnswersTest, AreLookedForInTheCache) {
  EXPECT_EQ(answers_folder("/here", {{"HOME", "/home/x"}}), "/here");
  EXPECT_EQ(answers_folder("", {{"XDG_CACHE_HOME", "/cache"}, {"HOME", "/home/x"}}), "/cache/weft");
  EXPECT_EQ(answers_folder("", {{"XDG_CACHE_HOME", "relative"}, {"HOME", "/home/x"}}), "/home/x/.cache/weft");
  EXPECT_EQ(answers_folder("", {}), "");
}

TEST_F(AnswersTest, TravelAsLetters) {
  given[Asked::host_wait] = Found::passes;
  const std::string letters = letters_of(given);
  EXPECT_EQ(letters, "uphuuuuuupu");
  ASSERT_TRUE(parse_letters(letters, read));
  EXPECT_EQ(read.found, given.found);
  for (const char* bad : {"", "p", "uphuuuuuupuu", "uphuuuuuupx"}) EXPECT_FALSE(parse_letters(bad, read)) << bad;
  EXPECT_EQ(read.found, given.found) << "nothing of what is no answer is taken";
}

TEST_F(AnswersTest, DecideWhichBubblesAreFilledWithOneQueue) {
  const auto marking = [&] { return marking_for({one, one}, &given, Purpose::fill); };
  EXPECT_EQ(marking_for({one, one}).fillable, Fillable::unasked);
  EXPECT_EQ(marking_for({{}, {}}, &given).fillable, Fillable::any) << "with more queues they decide nothing";
  EXPECT_EQ(marking().fillable, Fillable::nothing) << "a question without an answer forbids";
  EXPECT_NE(std::string(marking().unfillable).find("has no answer"), std::string::npos);
  given[Asked::host_wait] = Found::passes;
  EXPECT_EQ(marking().fillable, Fillable::host_waits_alone);
  given[Asked::host_and_stream_wait] = Found::holds;
  EXPECT_EQ(marking().fillable, Fillable::host_waits_alone);
  given[Asked::host_and_stream_wait] = Found::passes;
  EXPECT_EQ(marking().fillable, Fillable::host_waits);
  EXPECT_STREQ(marking().unfillable, "");
  given[Asked::host_wait] = Found::holds;
  EXPECT_EQ(marking().fillable, Fillable::nothing);
  given[Asked::host_wait] = Found::passes;
  given[Asked::event] = Found::holds;
  EXPECT_EQ(marking().fillable, Fillable::nothing);
  EXPECT_STREQ(marking().unfillable, "idle time is not measured") << "`because` has the event already";
  EXPECT_EQ(marking_for({{{"CUDA_LAUNCH_BLOCKING", "1"}}, {}}).fillable, Fillable::nothing);
}

TEST_F(AnswersTest, LetFillWorkHaveAQueueOfItsOwn) {
  const auto marking = [&](OneQueue wish) { return marking_for({one, one}, &given, Purpose::fill, wish); };
  given[Asked::green] = given[Asked::above] = Found::passes;
  EXPECT_EQ(marking(OneQueue::keep).stream, FillStream::plain) << "the default scope promises nothing";
  EXPECT_EQ(marking(OneQueue::keep).fillable, Fillable::nothing);
  EXPECT_STREQ(marking(OneQueue::keep).unheeded, "");
  EXPECT_EQ(marking(OneQueue::above).stream, FillStream::above);
  EXPECT_EQ(marking(OneQueue::above).fillable, Fillable::any);
  EXPECT_STREQ(marking(OneQueue::above).unfillable, "");
  given[Asked::green_balanced] = Found::passes;
  for (const OneQueue wish : {OneQueue::keep, OneQueue::above}) {
    EXPECT_EQ(marking(wish).stream, FillStream::green_context) << "below the training, so better";
    EXPECT_EQ(marking(wish).fillable, Fillable::any);
  }
  given[Asked::event] = Found::unknown;
  EXPECT_EQ(marking(OneQueue::above).stream, FillStream::plain);
  EXPECT_EQ(marking(OneQueue::above).fillable, Fillable::nothing);
  EXPECT_EQ(marking_for({{}, {}}, &given, Purpose::fill, OneQueue::above).stream, FillStream::plain);
}

TEST_F(AnswersTest, SayWhyAWishIsNotObeyed) {
  for (const Found found : {Found::holds, Found::unknown}) {
    given[Asked::above] = given[Asked::green_balanced] = found;
    const Marking marking = marking_for({one, one}, &given, Purpose::fill, OneQueue::above);
    EXPECT_EQ(marking.stream, FillStream::plain);
    EXPECT_NE(std::string(marking.unheeded).find("WEFT_ONE_QUEUE=above changes nothing here"), std::string::npos);
  }
}

TEST_F(AnswersTest, AreFallenBackOnWhereThereIsNoQueueOfItsOwn) {
  given[Asked::green_balanced] = given[Asked::host_wait] = given[Asked::write] = Found::passes;
  Marking marking = marking_for({one, one}, &given, Purpose::fill);
  EXPECT_EQ(marking.fillable, Fillable::any);
  fall_back_to_plain_stream(marking);
  EXPECT_EQ(marking.stream, FillStream::plain);
  EXPECT_EQ(marking.fillable, Fillable::host_waits_alone);
  given[Asked::host_and_stream_wait] = Found::passes;
  EXPECT_EQ(marking_for({one, one}, &given, Purpose::fill).marks, Marks::events) << "what it falls back on needs them";
  given[Asked::host_wait] = Found::holds;
  marking = marking_for({one, one}, &given, Purpose::fill);
  fall_back_to_plain_stream(marking);
  EXPECT_EQ(marking.fillable, Fillable::nothing);
  EXPECT_STREQ(marking.unfillable, "what is launched while the host waits for the GPU does not run (weft check)");
}

// The question about fill work beside a stream that waits has events on either side of its wait.
TEST_F(AnswersTest, EventsArePreferredWhereTheyLetMoreBeFilled) {
  given[Asked::write] = given[Asked::host_wait] = Found::passes;
  EXPECT_EQ(marking_for({one, one}, &given, Purpose::fill).marks, Marks::writes);
  given[Asked::host_and_stream_wait] = Found::passes;
  EXPECT_EQ(marking_for({one, one}, &given, Purpose::fill).marks, Marks::events);
  EXPECT_EQ(marking_for({one, one}, &given).marks, Marks::writes);
}

TEST_F(AnswersTest, DecideHowOneQueueIsMarked) {
  const auto marks = [&] { return marking_for({one, one}, &given); };
  EXPECT_EQ(marks().marks, Marks::events);
  given[Asked::write] = Found::passes;
  EXPECT_EQ(marks().marks, Marks::writes);
  EXPECT_TRUE(marks().one_queue) << "work still stands behind blocked streams";
  given[Asked::event] = Found::holds;
  EXPECT_EQ(marks().marks, Marks::none);
  EXPECT_STREQ(marks().because, "one hardware queue, which an event holds up (weft check)");
}

// Streams that share one of several queues hold each other up in the same way.
TEST_F(AnswersTest, WithSeveralQueuesStreamsAreMarkedByEventsUnlessAWriteIsKnownToHoldNobodyUp) {
  EXPECT_EQ(marking_for({{}, {}}).marks, Marks::events);
  EXPECT_EQ(marking_for({{}, {}}, &given).marks, Marks::events);
  given[Asked::write] = Found::passes;
  given.machine.queues = 1;
  EXPECT_EQ(marking_for({{}, {}}, &given).marks, Marks::writes);
  EXPECT_FALSE(marking_for({{}, {}}, &given).one_queue);
  given.machine.queues = 8;
  EXPECT_EQ(marking_for({{}, {}}, &given).marks, Marks::events) << "streams of a queue each say nothing";
}

}  // namespace
}  // namespace weft
