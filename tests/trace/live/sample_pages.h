// Pages of a run that is made up: as many ranks as wanted in pipelines of four stages, filled, some of them in trouble.
// The same each time.
//
// Used by tests of pages and of `weft top`, and by the program that writes such pages as files.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "trace/live/live_run.h"

namespace weft::test {

inline constexpr std::int64_t sample_wall_clock = 1'790'000'000'000'000'000;
inline constexpr std::int64_t sample_started = 5'000'000'000'000, sample_now = sample_started + 184'000'000'000;

// Of the machine on which ranks 0 to 7 run; the processes there are these.
inline LiveObserver sample_observer() {
  LiveObserver observer;
  observer.monotonic = Duration(sample_now);
  observer.wall_clock = Duration(sample_wall_clock + (sample_now - sample_started));
  observer.boot = "boot-0";
  observer.clock_offset = Duration{};
  observer.process_namespace = 77;
  observer.start_of_process = [](std::int64_t process) { return std::optional(static_cast<std::uint64_t>(process) * 10); };
  return observer;
}

inline LivePage sample_page(std::int32_t rank, std::int32_t ranks) {
  constexpr std::int32_t stages = 4, per_host = 8;
  const std::int32_t stage = rank % stages;
  LivePage page;
  LiveIdentity& identity = page.identity;
  identity.rank = rank;
  identity.ranks = ranks;
  identity.device = rank % per_host;
  identity.process = 1000 + rank;
  identity.start_id = sample_wall_clock;
  identity.process_namespace = 77;
  identity.process_started = static_cast<std::uint64_t>(identity.process) * 10;
  identity.started = sample_started;
  identity.wall_clock = sample_wall_clock;
  identity.clock_offset_known = 1;
  const std::string host = std::to_string(rank / per_host);
  set_text(identity.host, "node-" + host);
  set_text(identity.boot, "boot-" + host);
  set_text(identity.weft, "0.1.0");
  set_text(identity.mode, "fill");

  LiveNumbers& numbers = page.numbers;
  constexpr std::int64_t length = 152'000'000;
  numbers.time = sample_now - 400'000'000;
  numbers.window_begin = sample_started + 1'000'000'000;
  numbers.window_end = sample_now - 500'000'000;
  const std::int64_t window = numbers.window_end - numbers.window_begin;
  numbers.idle = window / 100 * (36 - 7 * stage);
  numbers.uncertain = window / 1000;
  numbers.filled = numbers.idle / 100 * (61 + rank % 5);
  numbers.startup_known = 1;
  numbers.startup_length = 2'000'000'000;
  numbers.startup_idle = 900'000'000;
  numbers.iterations = 1187 + static_cast<std::uint64_t>(rank % 3);
  numbers.bubbles = numbers.iterations * 9;
  numbers.slices = numbers.bubbles * 12;
  numbers.last_iteration = numbers.iterations;
  numbers.last_iteration_ended = numbers.window_end;
  numbers.recent_count = live_iterations;
  for (std::size_t place = 0; place < live_iterations; ++place) {
    const bool is_long = place == 11 || place == 12;
    const std::int64_t own = length + static_cast<std::int64_t>(place % 4) * 1'500'000 + (is_long ? 40'000'000 : 0);
    numbers.recent[place] = {own, own / 100 * (35 - 7 * stage), own / 1000, own / 100 * (20 - 4 * stage)};
  }
  numbers.forecasts = numbers.bubbles;
  numbers.forecasts_within = numbers.bubbles / 10 * 8;
  numbers.forecast_error = 0.021 + 0.001 * stage;
  numbers.slowdown_known = 1;
  numbers.slowdown_control = 90;
  numbers.slowdown_filled = 1090;
  numbers.slowdown = 0.0012 + 0.0001 * (rank % 7);
  numbers.slowdown_low = numbers.slowdown - 0.0021;
  numbers.slowdown_high = numbers.slowdown + 0.0019;
  numbers.slowdown_budget = 0.01;
  numbers.filling = LiveFilling::fills;
  numbers.memory_known = 1;
  numbers.memory_cap = numbers.memory_reserved = std::int64_t{1} << 30;
  set_text(numbers.fill_jobs, "matmul");
  numbers.idle_by_cause[static_cast<std::size_t>(Cause::receive)] = numbers.idle / 10 * 8;
  numbers.idle_by_cause[static_cast<std::size_t>(Cause::collective)] = numbers.idle / 10 * 2;
  // Each pipeline has a communicator, in which a rank is as its stage; the stage before is waited for most.
  const auto pipeline = static_cast<std::uint64_t>(rank / stages) + 1;
  numbers.communicators[0] = {pipeline, stage, stages};
  numbers.communicator_count = 1;
  numbers.waits[0] = {pipeline, numbers.idle / 10 * 5, (stage + stages - 1) % stages, stages};
  numbers.waits[1] = {pipeline, numbers.idle / 10 * 3, (stage + 1) % stages, stages};
  numbers.wait_count = 2;
  seal(page, 185);
  return page;
}

// Some are not as the others: one is over, one paused, one silent on another machine, one gone.
inline std::vector<LivePageOf> sample_pages(std::int32_t ranks) {
  std::vector<LivePageOf> pages;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    LivePage page = sample_page(rank, ranks);
    if (rank == 3) {
      page.numbers.filling = LiveFilling::ended;
      set_text(page.numbers.why, "the slowdown budget of 1 % cannot be kept: +1.42 % (95 % interval +1.10 to +1.80 %)");
    }
    if (rank == 5) page.identity.process_started = 1;
    if (rank == 17) page.numbers.time -= 12'000'000'000;
    if (rank == 20) {
      page.numbers.filling = LiveFilling::paused;
      set_text(page.numbers.why,
               "a slice of 300 us did not end within 2400 us: filling pauses until 1 s after its end");
    }
    seal(page, 185);
    pages.push_back({"run/rank" + std::to_string(rank) + "." + std::to_string(1000 + rank) + ".live", page});
  }
  return pages;
}

inline LiveRun sample_run(std::int32_t ranks) {
  return live_run_of(sample_pages(ranks), sample_observer());
}

}  // namespace weft::test
