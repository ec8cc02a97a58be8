// A rank's Feed and the feeder's ServedChannel with the memory that they share between them: what is asked and
// answered, slots that go round, and either side that dies.
#include "feeder/served_channel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "feeder/feeder.h"
#include "feeder/files/png_image.h"
#include "runner/clock.h"
#include "runner/core/set_up_error.h"
#include "runner/feed/feed.h"
#include "tests/feeder/files.h"
#include "tests/feeder/images.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::fault_of;
using testing::Files;
using testing::npy;
using testing::tensor;

// Ranks that work on the same file share its records, and must mean the same by them.
TEST_F(Files, ARankWithOtherTensorsOrAnotherFileMayNotJoin) {
  write("in.npy", npy({4}, {1, 2, 3, 4}));
  write("job.so", "a job");
  const std::vector<Tensor> in{tensor("x", WEFT_INT32, {})}, out{tensor("y", WEFT_INT32, {2})};
  const auto records = open_records({path("job.so"), "", path("in.npy"), path("out.npy"), ""}, in, out);
  EXPECT_EQ(fault_of([&] { records->check_joining(in, out); }), "");
  const std::vector<Tensor> larger{tensor("y", WEFT_INT32, {3})};
  EXPECT_EQ(fault_of([&] { records->check_joining(in, larger); }),
            "it takes or gives other tensors here than on the ranks that began: [\"x int32 []\"] and [\"y int32 "
            "[3]\"] instead of [\"x int32 []\"] and [\"y int32 [2]\"]");
  write("job.so", "another job");
  EXPECT_EQ(fault_of([&] { records->check_joining(in, out); }),
            path("in.npy") + ": has changed since work on it began, or its weights or the job have");
}

struct Channels : Files {
  const Tensor number = tensor("x", WEFT_INT32, {});
  std::atomic<bool> stop{false};
  std::thread feeder;

  Channels() {
    std::vector<std::int32_t> numbers;
    for (int i = 0; i < 100; ++i) numbers.push_back(i);
    write("in.npy", npy({100}, numbers));
    write("job.so", "a job");
    start();
  }
  ~Channels() override { end(); }
  void start() {
    stop = false;
    feeder = std::thread([this] {
      Feeder(folder.string(), &open_records, [](const Channel& channel) {
        return channel.header().closed == 0;
      }).run(stop);
    });
  }
  void end() {
    stop = true;
    if (feeder.joinable()) feeder.join();
  }
  FeedPlan plan(const std::string& results = "out.npy") const {
    return {folder.string(), path("in.npy"), path(results), "", "arguments"};
  }
  std::unique_ptr<Feed> begun(std::uint32_t per_unit = 8) {
    auto feed = std::make_unique<Feed>(plan(), path("job.so"));
    feed->set_records(per_unit);
    feed->add_input(number);
    feed->add_output(number);
    feed->begin(std::uint64_t{1} << 30);
    return feed;
  }
  // A unit: each result is its record, times three.
  static void work(Feed& feed, bool accepted = true) {
    ASSERT_TRUE(feed.has_next());
    const FilledSlot& slot = feed.slot(feed.next());
    const auto* const from = static_cast<const std::int32_t*>(slot.inputs[0]);
    auto* const to = static_cast<std::int32_t*>(slot.outputs[0]);
    for (std::uint32_t i = 0; i < feed.records_in(feed.next()); ++i) {
      EXPECT_EQ(from[i], static_cast<std::int32_t>(slot.numbers[i]));
      to[i] = 3 * from[i];
    }
    feed.unit_ended(accepted);
  }
  static void work_to_the_end(Feed& feed) {
    const TimePoint began = now();
    while (!feed.is_over() && now() - began < 20s) {
      if (feed.has_next())
        work(feed);
      else
        std::this_thread::sleep_for(1ms);
    }
  }
  void expect_all_results() const {
    std::vector<std::int32_t> numbers;
    for (int i = 0; i < 100; ++i) numbers.push_back(3 * i);
    EXPECT_EQ(read(path("out.npy")), npy({100}, numbers));
  }
};

TEST_F(Channels, EachRecordGetsItsResult) {
  const auto feed = begun();
  work_to_the_end(*feed);
  EXPECT_TRUE(feed->is_over());
  EXPECT_FALSE(feed->has_failed());
  EXPECT_EQ(feed->why(), "has results of all 100 records of " + path("in.npy") + " in " + path("out.npy"));
  expect_all_results();
}

// Of a folder of images, and into one: each picture has the number of pixels that its image has, in its first row.
TEST_F(Channels, ImagesBecomePictures) {
  for (const auto& [name, side] : {std::pair{"photos/b.png", 2U}, std::pair{"photos/a.png", 3U}}) {
    std::filesystem::create_directory(path("photos"));
    write(name, testing::png_file(side, side));
  }
  FeedPlan images = plan("small/");
  images.input = path("photos");
  const auto feed = std::make_unique<Feed>(images, path("job.so"));
  feed->set_records(4);
  const auto pixels = feed->describe(Feed::Of::input, "pixels");
  ASSERT_TRUE(pixels);
  EXPECT_EQ(described(*pixels), "uint8 [up to 27]");
  feed->add_input(*pixels);
  feed->add_input(tensor("size", WEFT_INT32, {2}));
  feed->add_output(tensor("pixels", WEFT_UINT8, {1, 2, 3}));
  feed->begin(std::uint64_t{1} << 30);
  ASSERT_TRUE(feed->has_filled_one_within(5s));
  const FilledSlot& slot = feed->slot(feed->next());
  ASSERT_EQ(feed->records_in(feed->next()), 2U);
  const auto* const sizes = static_cast<const std::int32_t*>(slot.inputs[1]);
  EXPECT_EQ((std::vector<std::int32_t>{sizes, sizes + 4}), (std::vector<std::int32_t>{3, 3, 2, 2}));
  EXPECT_EQ(slot.input_lengths[0][0], 27U);
  EXPECT_EQ(slot.input_lengths[0][1], 12U);
  std::memcpy(slot.outputs[0], "\1\2\3\4\5\6\7\10\11\12\13\14", 12);
  feed->unit_ended(true);
  work_to_the_end(*feed);
  EXPECT_FALSE(feed->has_failed()) << feed->why();
  for (const auto& [name, first] : {std::pair{"small/a.png", 1}, std::pair{"small/b.png", 7}}) {
    const std::string file = read(path(name));
    std::vector<std::uint8_t> read(6);
    decode_png(std::as_bytes(std::span(file)), {1, 2}, std::as_writable_bytes(std::span(read)));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(read[static_cast<std::size_t>(i)], first + i) << name;
  }
}

TEST_F(Channels, ResultsThatAreCompleteAreNotComputedAgain) {
  work_to_the_end(*begun());
  EXPECT_EQ(fault_of([&] { begun(16); }), "it has nothing left to do: it has results of all 100 records of " +
                                              path("in.npy") + " in " + path("out.npy"));
}

// Another rank works on, and gets what this one had.
TEST_F(Channels, AJobThatHasEndedGivesItsRecordsBack) {
  const auto ended = begun();
  ASSERT_TRUE(ended->has_filled_one_within(5s));
  ended->close();
  EXPECT_FALSE(ended->has_next());
  work_to_the_end(*begun());
  expect_all_results();
}

TEST_F(Channels, SeveralRanksShareTheRecords) {
  const auto one = begun(), other = begun(5);
  std::thread second([&] { work_to_the_end(*other); });
  work_to_the_end(*one);
  second.join();
  expect_all_results();
}

// Its slots are filled; none of their records is lost.
TEST_F(Channels, RecordsOfARankThatLeavesGoToAnother) {
  {
    const auto gone = begun();
    ASSERT_TRUE(gone->has_filled_one_within(5s));
    work(*gone);
  }
  work_to_the_end(*begun());
  expect_all_results();
}

TEST_F(Channels, AFeederThatIsStartedAgainGoesOn) {
  const auto feed = begun();
  ASSERT_TRUE(feed->has_filled_one_within(5s));
  work(*feed);
  end();
  EXPECT_FALSE(feed->is_over());
  while (feed->has_next()) work(*feed);
  start();
  work_to_the_end(*feed);
  EXPECT_TRUE(feed->is_over());
  expect_all_results();
}

TEST_F(Channels, WrongResultsAreNotWrittenAndEndTheJobAfterThree) {
  const auto feed = begun();
  for (int unit = 0; unit < 3; ++unit) {
    ASSERT_TRUE(feed->has_filled_one_within(5s));
    work(*feed, false);
  }
  const TimePoint began = now();
  while (!feed->has_failed() && now() - began < 10s) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(feed->why(), "gets no more records: its results were wrong in 3 units in a row");
  work_to_the_end(*begun());
  expect_all_results();
}

TEST_F(Channels, WhatCannotBeIsRefusedWhenItIsAsked) {
  EXPECT_EQ(fault_of([&] {
              Feed({folder.string(), path("none.npy"), "", "", ""}, path("job.so"));
            }),
            path("none.npy") + ": No such file or directory");
  Feed feed(plan(), path("job.so"));
  EXPECT_EQ(fault_of([&] { feed.describe(Feed::Of::weights, "w"); }),
            "it reads weights, and no file of weights is named (WEFT_WEIGHTS, or `weights`)");
  feed.set_records(4);
  EXPECT_EQ(fault_of([&] { feed.add_input(tensor("x", WEFT_FLOAT64, {})); }),
            path("in.npy") + ": has records of int32 [] for 'x', and the job takes float64 []");
  feed.add_input(number);
  feed.add_output(number);
  EXPECT_NE(fault_of([&] { feed.add_output(tensor("z", WEFT_INT32, {})); }).find("takes one of fixed size"),
            std::string::npos);
}

TEST_F(Channels, AListOfEdgesIsReadAsWeights) {
  write("g.txt", "# a graph\n7 9\n9 12\n");
  FeedPlan with_graph = plan();
  with_graph.weights = path("g.txt");
  Feed feed(with_graph, path("job.so"));
  EXPECT_EQ(described(*feed.describe(Feed::Of::weights, "sources")), "int32 [2]");
  EXPECT_FALSE(feed.describe(Feed::Of::weights, "values"));
  std::string got;
  feed.read_parameter(tensor("ids", WEFT_INT64, {3}), [&](std::uint64_t, std::span<const std::byte> part) {
    got.append(reinterpret_cast<const char*>(part.data()), part.size());
  });
  EXPECT_EQ(got, testing::bytes_of(std::vector<std::int64_t>{7, 9, 12}));
  write("g.txt", "7 nine\n");
  EXPECT_EQ(fault_of([&] { Feed(with_graph, path("job.so")); }),
            path("g.txt") + ": line 1 has 'nine' for a vertex, which is a whole number from 0 to 9223372036854775807");
}

TEST_F(Channels, WeightsComeInParts) {
  std::vector<std::int32_t> numbers;
  for (int i = 0; i < 700'000; ++i) numbers.push_back(i);
  write("w.npy", npy({700, 1000}, numbers));
  FeedPlan with_weights = plan();
  with_weights.weights = path("w.npy");
  Feed feed(with_weights, path("job.so"));
  EXPECT_EQ(described(*feed.describe(Feed::Of::weights, "w")), "int32 [700, 1000]");
  std::string got;
  int parts = 0;
  feed.read_parameter(tensor("w", WEFT_INT32, {700, 1000}), [&](std::uint64_t offset, std::span<const std::byte> part) {
    EXPECT_EQ(offset, got.size());
    got.append(reinterpret_cast<const char*>(part.data()), part.size());
    ++parts;
  });
  EXPECT_EQ(got, testing::bytes_of(numbers));
  EXPECT_EQ(parts, 3);
  EXPECT_EQ(fault_of([&] { feed.read_parameter(tensor("w", WEFT_INT32, {700}), {}); }),
            path("w.npy") + ": has int32 [700, 1000] for 'w', and the job takes int32 [700]");
}

TEST_F(Channels, WithoutAFeederARankSaysSo) {
  end();
  EXPECT_EQ(fault_of([&] { begun(); }), "the feeder does not answer: there is none in its folder (WEFT_FEEDER)");
  FeedPlan without = plan();
  without.folder = "";
  EXPECT_NE(fault_of([&] { Feed(without, path("job.so")); }).find("there is no feeder"), std::string::npos);
  without.folder = path("nowhere");
  EXPECT_NE(fault_of([&] { Feed(without, path("job.so")); }).find("nothing can be made in the feeder's folder"),
            std::string::npos);
}

TEST_F(Channels, ResultsThatAreSomethingElseAreRefusedBeforeThereAreRecords) {
  write("out.npy", "mine");
  EXPECT_NE(fault_of([&] { begun(); }).find("gets no records: " + path("out.npy") + ": is there already"),
            std::string::npos);
}

// The folder of the results is gone while work goes on: the job ends, and says why. It goes in one step, as the feeder
// may make a file in it meanwhile.
TEST_F(Channels, ResultsThatCannotBeWrittenEndTheJob) {
  const auto feed = begun();
  ASSERT_TRUE(feed->has_filled_one_within(5s));
  std::filesystem::rename(path("out.npy.weft"), path("taken away"));
  work_to_the_end(*feed);
  EXPECT_TRUE(feed->has_failed());
  EXPECT_NE(feed->why().find(path("out.npy.weft")), std::string::npos) << feed->why();
}

// A disk that is full, and a limit on files, end the job; the next one goes on with what there is.
TEST_F(Channels, ADiskWithoutRoomEndsTheJobAndLosesNothing) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto feed = begun();
  ASSERT_TRUE(feed->has_filled_one_within(5s));
  work(*feed);
  const TimePoint began = now();
  while (feed->slots().header().collected != 1 && now() - began < 5s) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(700ms);  // until it is on the disk
  rlimit small = before;
  small.rlim_cur = 1;
  ::setrlimit(RLIMIT_FSIZE, &small);
  work_to_the_end(*feed);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(feed->has_failed());
  EXPECT_NE(feed->why().find("File too large"), std::string::npos) << feed->why();
  feed.reset();
  work_to_the_end(*begun());
  expect_all_results();
}

// Whatever stands in the shared memory, the feeder refuses it or takes it, and goes on.
TEST_F(Channels, NothingInTheMemoryIsBelieved) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Channel channel = Channel::create(folder.string());
    std::srand(seed);
    ChannelHeader& header = channel.header();
    header.request.call = static_cast<ChannelCall>(seed % 12);
    header.request.input.set(path("in.npy"));
    auto* const tensor_bytes = reinterpret_cast<unsigned char*>(&header.request.tensor);
    for (std::size_t i = 0; i < sizeof header.request.tensor; ++i)
      tensor_bytes[i] = static_cast<unsigned char>(std::rand());
    auto* const declared = reinterpret_cast<unsigned char*>(&header.declared);
    for (std::size_t i = sizeof header.request; i < sizeof header.declared; ++i)
      declared[i] = static_cast<unsigned char>(std::rand());
    header.slots = static_cast<std::uint32_t>(std::rand());
    header.slot_bytes = static_cast<std::uint64_t>(std::rand());
    header.requests.store(1);
    ring(header.feeder_bell);
    const TimePoint began = now();
    const auto was_looked_at = [&] { return header.answers.load() == 1 || header.state.load() != FeedState::feeding; };
    while (!was_looked_at() && now() - began < 5s) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(was_looked_at()) << seed;
    header.closed.store(1);
  }
  work_to_the_end(*begun());
  expect_all_results();
}

}  // namespace
}  // namespace weft
