// The cost of a marker: how much later the next kernel of the stream starts, how long the call takes, and how soon the
// host sees it, for stream-ordered writes, a pair of them in one call, and events.
//
// Run by scripts/gpu-proof; main thread only.
#include <algorithm>
#include <cstdio>

#include "gpu.h"
#include "report.h"
#include "statistics.h"
#include "work.h"

namespace probe {
namespace {

enum class Marker { none, write, write_to_device, two_writes, event, timed_event };
constexpr const char* names[] = {"none", "write", "write_to_device", "two_writes", "event", "timed_event"};

struct Places {
  CUstream stream = make_stream();
  uint32_t* host_words = static_cast<uint32_t*>(make_pinned(64));
  CUdeviceptr device_word = make_device_memory(64);
  CUevent event = make_event();
  CUevent timed_event = make_event(CU_EVENT_DEFAULT);
};

void enqueue(Marker marker, const Places& places, uint32_t value) {
  const auto host = reinterpret_cast<CUdeviceptr>(places.host_words);
  CUstreamBatchMemOpParams two[2]{};
  switch (marker) {
    case Marker::none:
      break;
    case Marker::write:
      check(driver().cuStreamWriteValue32(places.stream, host, value, CU_STREAM_WRITE_VALUE_DEFAULT));
      break;
    case Marker::write_to_device:
      check(driver().cuStreamWriteValue32(places.stream, places.device_word, value, CU_STREAM_WRITE_VALUE_DEFAULT));
      break;
    case Marker::two_writes:
      for (unsigned index = 0; index < 2; ++index) {
        two[index].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        two[index].writeValue.address = host + index * 32;
        two[index].writeValue.value = value;
      }
      check(driver().cuStreamBatchMemOp(places.stream, 2, two, 0));
      break;
    case Marker::event:
      check(driver().cuEventRecord(places.event, places.stream));
      break;
    case Marker::timed_event:
      check(driver().cuEventRecord(places.timed_event, places.stream));
      break;
  }
}

struct Costs {
  double gap, call;  // microseconds, nanoseconds
};

// Stamp, marker, stamp, marker, ... behind a kernel that holds the stream until all are enqueued: the device is never
// late because the host was.
Costs measure_costs(Marker marker, const Places& places, int count) {
  Busy first, last, between;
  Spin hold;
  hold.launch(places.stream);
  first.launch(places.stream, 0);
  std::vector<double> calls;
  for (int index = 0; index < count; ++index) {
    const int64_t begin = now();
    enqueue(marker, places, static_cast<uint32_t>(index + 1));
    calls.push_back(static_cast<double>(now() - begin));
    (index + 1 < count ? between : last).launch(places.stream, 0);
  }
  hold.release();
  check(driver().cuStreamSynchronize(places.stream));
  return {static_cast<double>(last.started() - first.started()) / 1e3 / count, median(calls)};
}

// From the end of a kernel to the start of the next one of its stream.
double dependency_gap(const Places& places, int count) {
  Busy first, second;
  Spin hold;
  std::vector<double> gaps;
  for (int index = 0; index < count; ++index) {
    hold.launch(places.stream);
    first.launch(places.stream, 0);
    second.launch(places.stream, 0);
    hold.release();
    check(driver().cuStreamSynchronize(places.stream));
    gaps.push_back(static_cast<double>(second.started() - first.ended()));
  }
  return middle_mean(gaps);
}

// From the moment at which the host sees the last store of a kernel to that at which it sees the marker behind it.
double latency(Marker marker, const Places& places, int count) {
  Spin spin;
  std::vector<double> latencies;
  for (int index = 0; index < count; ++index) {
    places.host_words[0] = 0;
    spin.launch(places.stream);
    enqueue(marker, places, 1);
    spin.wait_until_resident();
    spin.release();
    while (!spin.has_seen_release()) {
    }
    const int64_t seen = now();
    if (marker == Marker::event) {
      while (!is_done(places.event)) {
      }
    } else {
      while (__atomic_load_n(places.host_words, __ATOMIC_ACQUIRE) == 0) {
      }
    }
    latencies.push_back(static_cast<double>(now() - seen) / 1e3);
    check(driver().cuStreamSynchronize(places.stream));
  }
  return median(latencies);
}

std::string measure(const Options& options, Report& report) {
  use_gpu();
  const Places places;
  const int count = options.quick ? 50 : 200;
  Costs costs[std::size(names)]{};
  for (std::size_t index = 0; index < std::size(names); ++index) {
    measure_costs(static_cast<Marker>(index), places, count);  // the first time is not like the others
    std::vector<double> gaps, calls;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const Costs once = measure_costs(static_cast<Marker>(index), places, count);
      gaps.push_back(once.gap);
      calls.push_back(once.call);
    }
    costs[index] = {median(gaps), median(calls)};
    report.add(std::string("gap_") + names[index] + "_us", costs[index].gap);
    if (index > 0) report.add(std::string("call_") + names[index] + "_ns", costs[index].call);
  }
  // Named as in the simulator, in its unit. Never less than nothing: the gaps are medians.
  const auto more = [&](Marker marker) { return costs[static_cast<std::size_t>(marker)].gap - costs[0].gap; };
  const auto added = [&](Marker marker) { return std::max(0.0, more(marker)) * 1e3; };
  report.add("write_time", added(Marker::write));
  report.add("record_time", added(Marker::event));
  const int tries = options.quick ? 20 : 100;
  report.add("dependency_gap", dependency_gap(places, tries));
  const double write = latency(Marker::write, places, tries);
  const double event = latency(Marker::event, places, tries);
  report.add("latency_write_us", write);
  report.add("latency_event_us", event);
  return format(
      "Between two kernels a stream-ordered write costs %.2f us (two in one call %.2f), an event %.2f; the host sees "
      "the write %.1f us after the kernel's own last store, the event %.1f us",
      more(Marker::write), more(Marker::two_writes), more(Marker::event), write, event);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "stream_write_cost", probe::measure);
}
