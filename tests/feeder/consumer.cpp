// Stands in for a rank: takes slots as fast as they come and writes down three times each number, until there are no
// more records. consumer FOLDER INPUT RESULTS JOB RECORDS_OF_A_UNIT MICROSECONDS_OF_A_UNIT [CLAIMS]. Exit code 0: all
// have their results; 2: there is no feeder, or it has gone; 1: anything else.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "runner/clock.h"
#include "runner/feed/feed.h"

namespace {

using namespace std::chrono_literals;

void work(weft::Feed& feed) {
  const weft::FilledSlot& slot = feed.slot(feed.next());
  const auto* const from = static_cast<const std::int32_t*>(slot.inputs[0]);
  auto* const to = static_cast<std::int32_t*>(slot.outputs[0]);
  for (std::uint32_t i = 0; i < feed.records_in(feed.next()); ++i) to[i] = 3 * from[i];
  feed.unit_ended(true);
}

bool has_feeder(const weft::Feed& feed) {
  return feed.seen_feeder() && weft::now() - *feed.seen_feeder() < 2s;
}

int run(char** arguments) {
  weft::FeedPlan plan{arguments[1], arguments[2], arguments[3], "", ""};
  if (arguments[7] != nullptr) plan.claims = arguments[7];
  weft::Feed feed(plan, arguments[4]);
  const std::uint64_t shape = 1;
  weft::Tensor number = weft::make_tensor("x", WEFT_INT32, &shape, 0);
  feed.set_records(static_cast<std::uint32_t>(std::atoi(arguments[5])));
  feed.add_input(number);
  feed.add_output(number);
  feed.begin(std::uint64_t{1} << 30);
  const std::chrono::microseconds takes(std::atoi(arguments[6]));
  while (!feed.is_over()) {
    if (!feed.has_next() && !has_feeder(feed)) return 2;
    if (feed.has_next()) {
      std::this_thread::sleep_for(takes);
      work(feed);
    } else {
      std::this_thread::sleep_for(200us);
    }
  }
  if (feed.has_failed()) std::fprintf(stderr, "%s\n", feed.why().c_str());
  return feed.has_failed() ? 1 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7 && count != 8) return 1;
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
