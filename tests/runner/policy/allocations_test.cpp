// After the first iterations a Session allocates nothing: not for an event, a look or a decision. An executable of its
// own, as it counts what operator new is asked for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "runner/policy/live_accounts.h"
#include "tests/runner/policy/rank_of_pipeline.h"

namespace {

std::uint64_t allocations = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace weft {
namespace {

using namespace std::chrono_literals;
using pipeline::Schedule;
using testing::fill_view;

// With the numbers of the page for weft top, as the dispatcher hands them over.
struct Page {
  LiveAccounts accounts;
  LiveNumbers numbers;
};

void step(Session& session, Page& page, const Event& event) {
  const TimePoint now = event.time + 1us;
  session.observe(event);
  session.looked(now);
  session.look(now, fill_view(now, 0));
  set_totals(session.totals(), session.startup(), page.numbers);
  page.accounts.fill(session.snapshot(), page.numbers);
  if (!session.bubble_is_open()) return;
  for (const std::uint32_t in_flight : {0u, 1u}) static_cast<void>(session.decide(now, fill_view(now, in_flight)));
}

class Allocations : public ::testing::TestWithParam<std::tuple<Schedule, bool>> {};

TEST_P(Allocations, AreNoneAfterTheFirstIterations) {
  const auto [schedule, records_groups] = GetParam();
  const std::vector<Event> events = testing::events_of_rank(schedule, 4);
  Page page;
  SessionOptions options;
  options.fills = true;
  options.slowdown_budget = 0.01;
  options.records_groups = records_groups;
  Session session(options, page.accounts);
  const std::size_t taught = events.size() / 5;
  for (std::size_t i = 0; i < taught; ++i) step(session, page, events[i]);
  EXPECT_GT(session.snapshot().bubbles, 20u);
  EXPECT_GT(allocations, 0u);  // they are counted
  const std::uint64_t before = allocations;
  for (std::size_t i = taught; i < events.size(); ++i) step(session, page, events[i]);
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_GT(session.snapshot().iterations, 100u);
  EXPECT_EQ(page.numbers.iterations, session.snapshot().iterations);
  EXPECT_EQ(page.numbers.recent_count, live_iterations);
}

std::string name_of(const ::testing::TestParamInfo<Allocations::ParamType>& info) {
  constexpr const char* names[] = {"gpipe", "one_f_one_b", "interleaved", "zb_h1"};
  const auto [schedule, records_groups] = info.param;
  return std::string(names[info.index / 2]) + (records_groups ? "_with_group_records" : "");
}

INSTANTIATE_TEST_SUITE_P(, Allocations,
                         ::testing::Combine(::testing::Values(Schedule::gpipe, Schedule::one_f_one_b,
                                                              Schedule::interleaved, Schedule::zb_h1),
                                            ::testing::Bool()),
                         name_of);

}  // namespace
}  // namespace weft
