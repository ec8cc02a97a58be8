// A queue in a folder: jobs that appear whole, change their state once, and are seen by all processes.
#include "feeder/queue/spool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "feeder/owner.h"
#include "tests/feeder/files.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::Files;
namespace fs = std::filesystem;

QueuedJob job(const std::string& name) {
  QueuedJob made;
  made.plan.spec = "/jobs/fill_" + name + ".so:a=1";
  made.plan.files.input = "/in.npy";
  made.user = "somebody";
  made.submitted = 1234;
  return made;
}

struct SpoolTest : Files {
  const std::string queue = path("queue");
  Spool open() const { return Spool(queue, WhereNone::make); }
};

TEST_F(SpoolTest, AJobIsAsItWasSubmitted) {
  Spool spool = open();
  QueuedJob submitted = job("embed");
  submitted.plan.name = "mine";
  submitted.plan.memory = 77;
  submitted.plan.terms = {5, 2.5, std::chrono::seconds(9), 0};
  submitted.plan.variants = {"batch=8", "batch=2"};
  EXPECT_EQ(spool.submit(submitted), "1");
  EXPECT_EQ(spool.submit(job("embed")), "2");
  const auto entry = open().find("1");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->state, JobState::waiting);
  EXPECT_EQ(entry->job.plan.spec, "/jobs/fill_embed.so:a=1");
  EXPECT_EQ(entry->job.plan.arguments, "a=1");
  EXPECT_EQ(entry->job.plan.memory, 77U);
  EXPECT_EQ(entry->job.plan.terms.priority, 5);
  EXPECT_EQ(entry->job.plan.terms.weight, 2.5);
  EXPECT_EQ(entry->job.plan.terms.deadline, std::chrono::seconds(9));
  EXPECT_EQ(entry->job.plan.variants, submitted.plan.variants);
  EXPECT_EQ(entry->job.submitted, 1234);
  EXPECT_EQ(entry->job.plan.files.results, queue + "/jobs/1/results.safetensors") << "they have a place of their own";
  EXPECT_EQ(name_of(entry->job), "mine");
  EXPECT_EQ(name_of(open().find("2")->job), "embed");
}

TEST_F(SpoolTest, NumbersAreInOrder) {
  Spool spool = open();
  std::vector<std::string> wanted;
  for (int i = 1; i <= 12; ++i) wanted.push_back(spool.submit(job("a")));
  EXPECT_EQ(spool.ids(JobState::waiting), wanted);
  EXPECT_EQ(wanted.back(), "12");
}

TEST_F(SpoolTest, OneOfSeveralChangesTheState) {
  Spool one = open(), other = open();
  const std::string id = one.submit(job("a"));
  EXPECT_TRUE(one.move(id, JobState::waiting, JobState::cancelled, "it was cancelled"));
  EXPECT_FALSE(other.move(id, JobState::waiting, JobState::done, ""));
  EXPECT_EQ(other.find(id)->state, JobState::cancelled);
  EXPECT_EQ(other.find(id)->why, "it was cancelled");
  EXPECT_GT(other.find(id)->ended, 0);
  EXPECT_TRUE(other.ids(JobState::waiting).empty());
  one.note_refusal(id, {RefusalKind::fault, "host, rank 3", "no", 2});
  EXPECT_TRUE(other.move(id, JobState::cancelled, JobState::waiting, ""));
  EXPECT_TRUE(one.find(id)->refusals.empty()) << "a job that waits again is tried again";
}

TEST_F(SpoolTest, WhatIsFoundOutIsSeenByAll) {
  Spool one = open(), other = open();
  const std::string id = one.submit(job("a"));
  one.note_work(id, {"", "node7", {2, 3}, 99, 1.5});
  one.note_refusal(id, {RefusalKind::no_room, "node7, rank 1", "no room", 1});
  one.note_refusal(id, {RefusalKind::lacks_memory, "node7, rank 1", "no memory", 1});
  one.note_need(id, {1000, std::chrono::microseconds(5)});
  one.note_units(id, 12);
  const auto entry = other.find(id);
  ASSERT_EQ(entry->at_work.size(), 1U);
  EXPECT_EQ(entry->at_work[0].host, "node7");
  EXPECT_EQ(entry->at_work[0].ranks, (std::vector<std::int32_t>{2, 3}));
  EXPECT_EQ(entry->at_work[0].per_second, 1.5);
  ASSERT_EQ(entry->refusals.size(), 1U) << "the latest of that rank";
  EXPECT_EQ(entry->refusals[0].kind, RefusalKind::lacks_memory);
  EXPECT_EQ(entry->need.memory, 1000U);
  EXPECT_EQ(entry->need.slice, std::chrono::microseconds(5));
  EXPECT_EQ(entry->units, 12U);
  one.end_work(id);
  EXPECT_TRUE(other.find(id)->at_work.empty());
}

TEST_F(SpoolTest, AFeederThatIsGoneIsNotAtWork) {
  Spool spool = open();
  const std::string id = spool.submit(job("a"));
  spool.note_work(id, {"", "here", {0}, 1, 0});
  const std::string own = spool.folder_of(id) + "/at-work/" + own_name();
  const std::string ended = own.substr(0, own.rfind('-')) + "-1",
                    elsewhere = spool.folder_of(id) + "/at-work/far-1-1-1-1";
  fs::copy_file(own, elsewhere);
  EXPECT_EQ(spool.find(id)->at_work.size(), 2U);
  fs::last_write_time(elsewhere, fs::file_time_type::clock::now() - std::chrono::seconds(100));
  EXPECT_EQ(spool.find(id)->at_work.size(), 1U) << "it says nothing any more";
  fs::rename(own, ended);
  EXPECT_TRUE(spool.find(id)->at_work.empty()) << "its process has ended";
}

TEST_F(SpoolTest, EachOfManyThatSubmitHasItsOwnNumber) {
  (void)open();
  constexpr int processes = 8, jobs = 25;
  for (int i = 0; i < processes; ++i)
    if (::fork() == 0) {
      try {
        Spool spool(queue, WhereNone::fail);
        for (int j = 0; j < jobs; ++j) spool.submit(job("p" + std::to_string(i)));
        ::_exit(0);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ::_exit(1);
      }
    }
  for (int i = 0; i < processes; ++i) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  Spool spool = open();
  std::map<std::string, int> counts;
  for (const std::string& id : spool.ids(JobState::waiting)) ++counts[name_of(spool.find(id)->job)];
  EXPECT_EQ(counts.size(), static_cast<std::size_t>(processes));
  for (const auto& [name, count] : counts) EXPECT_EQ(count, jobs) << name;
}

TEST_F(SpoolTest, ASubmitThatWasKilledIsSaid) {
  Spool spool = open();
  const std::string id = spool.submit(job("a"));
  fs::remove(queue + "/waiting/" + id);
  EXPECT_EQ(spool.find(id)->state, JobState::failed);
  EXPECT_EQ(spool.find(id)->why, "weft jobs submit was ended before the job waited");
  EXPECT_EQ(spool.submit(job("b")), "2");
}

TEST_F(SpoolTest, OtherFoldersAreRefused) {
  EXPECT_EQ(fault_of([&] { Spool(queue, WhereNone::fail); }),
            queue + ": there is no queue: weft jobs submit makes one");
  write("mine", "x");
  EXPECT_EQ(fault_of([&] { Spool(folder.string(), WhereNone::make); }),
            folder.string() + ": is no queue of Weft's, and is not empty: it has mine");
  EXPECT_EQ(fault_of([&] { Spool(folder.string(), WhereNone::fail); }), folder.string() + ": is no queue of Weft's");
  (void)open();
  std::ofstream(queue + "/queue.json") << "{\"format\": 2}";
  EXPECT_EQ(fault_of([&] { open(); }), queue + "/queue.json: is of another version of Weft, or damaged");
}

// More than the last folder of its path is a mistyped one, or a file system that is not mounted.
TEST_F(SpoolTest, OnlyTheLastFolderIsMade) {
  const std::string nested = path("unmounted/a/queue");
  EXPECT_EQ(
      fault_of([&] { Spool(nested, WhereNone::make); }),
      nested + ": cannot be made: there is no folder " + path("unmounted/a") + "; make it, or mount its file system");
  EXPECT_FALSE(fs::exists(path("unmounted")));
  write("file", "x");
  EXPECT_NE(fault_of([&] { Spool(path("file"), WhereNone::make); }), "");
  EXPECT_TRUE(Spool(queue + "/", WhereNone::make).is_new());
  EXPECT_FALSE(open().is_new());
}

TEST_F(SpoolTest, DamagedFilesAreNamedAndHostileNumbersAreNone) {
  Spool spool = open();
  const std::string id = spool.submit(job("a"));
  for (const char* const none : {"../1", "", "a", "1/../1", "99999999999999999999", "7"})
    EXPECT_FALSE(spool.find(none)) << none;
  EXPECT_FALSE(spool.move("../x", JobState::waiting, JobState::done, ""));
  const std::string file = spool.folder_of(id) + "/job.json";
  for (const char* const text : {"", "[]", "{\"format\": 1}", "{\"format\": 1, \"fill\": 7}",
                                 "{\"format\": 1, \"fill\": \"x\", \"weight\": 0}", "{\"format\": 9}"}) {
    std::ofstream(file) << text;
    EXPECT_TRUE(fault_of([&] { spool.find(id); }).starts_with(file + ": ")) << text;
  }
  std::ofstream(file) << to_text(job("a"));
  for (const char* const name : {"/need.json", "/units.json", "/at-work/x", "/refusals/x"})
    std::ofstream(spool.folder_of(id) + name) << "{\"ranks\": 7, \"host\": [], \"memory\": \"a\", \"done\": -1}";
  EXPECT_TRUE(spool.find(id));
}

TEST_F(SpoolTest, JobsThatNeverEndAreNotForAQueue) {
  QueuedJob endless;
  endless.plan.spec = "a.so";
  EXPECT_NE(why_not_queued(endless), "");
  endless.plan.terms.units = 5;
  EXPECT_EQ(why_not_queued(endless), "");
  endless.plan.files.input = "in";
  EXPECT_NE(why_not_queued(endless), "");
}

}  // namespace
}  // namespace weft
