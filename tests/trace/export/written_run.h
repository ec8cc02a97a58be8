// Traces for the tests of the exports, line by line as a rank writes them. Times are in microseconds here, which reads
// better.
#pragma once

#include <string>

#include "tests/trace/temporary_directory.h"

namespace weft::test {

inline std::string us(long time) {
  return std::to_string(time * 1000);
}

// `more`: further keys, each with a comma in front.
inline std::string header_line(int rank, int ranks, const std::string& more = "") {
  return R"({"type": "header", "format": "weft-trace", "version": 2, "weft": "0.1.0", "rank": )" +
         std::to_string(rank) + R"(, "ranks": )" + std::to_string(ranks) +
         R"(, "device": 0, "mode": "fill", "host": "node-a", "process": )" + std::to_string(100 + rank) +
         R"(, "start_id": 7, "started": 1000000, "wall_clock": 1700000000000000000, "boot": "b1", "clock_offset": 0)" +
         more + "}\n";
}

// A communicator of two ranks; `id` is equal on both.
inline std::string communicator_line(int rank, const std::string& id = "\"00000000000000aa\"") {
  return R"({"type": "communicator", "time": 1000000, "device": 0, "event": "opened", "communicator": 1, "rank": )" +
         std::to_string(rank) + R"(, "ranks": 2, "id": )" + id + R"(, "name": "pipeline"})" + "\n";
}

inline std::string iteration_line(int number, long started, long ended, long idle) {
  return R"({"type": "iteration", "time": )" + us(ended) + R"(, "device": 0, "number": )" + std::to_string(number) +
         R"(, "started": )" + us(started) + R"(, "ended": )" + us(ended) + R"(, "groups": 1, "idle": )" + us(idle) +
         "}\n";
}

inline std::string bubble_line(int id, long opened, long closed, const std::string& cause = "receive",
                               const std::string& pattern = "event_wait", const std::string& rhythm = "null") {
  return R"({"type": "bubble", "time": )" + us(closed) + R"(, "device": 0, "id": )" + std::to_string(id) +
         R"(, "opened": )" + us(opened) + R"(, "closed": )" + us(closed) + R"(, "cause": ")" + cause +
         R"(", "pattern": ")" + pattern + R"(", "rhythm": )" + rhythm +
         R"(, "iteration": 1, "ordinal": 5, "group": 1, "communicator": 1, )" +
         R"("send_peer": -1, "receive_peer": 0, "bytes": 65536, "forecast": {"low": 100000, "median": 300000, )" +
         R"("high": 500000, "samples": 3}})" + "\n";
}

// Of the slot of the bubbles, if these have the rhythm.
inline std::string call_frame_line(const std::string& kind, int number, const std::string& function, int line) {
  return R"({"type": "call_frame", "time": 1000000, "device": 0, "rhythm": "00000000000000bb", "ordinal": 5, )" +
         std::string(R"("group": 1, "kind": ")") + kind + R"(", "number": )" + std::to_string(number) +
         R"(, "function": ")" + function + R"(", "file": "/home/me/train.py", "line": )" + std::to_string(line) +
         R"(, "offset": 0})" + "\n";
}

// One send or receive; its times are known to 1 us.
inline std::string group_line(int id, const std::string& kind, int peer, int sequence, long begun, long ended) {
  return R"({"type": "group", "time": )" + us(ended) + R"(, "device": 0, "id": )" + std::to_string(id) +
         R"(, "communicator": 1, "iteration": 1, "begun": )" + us(begun) + R"(, "begun_within": 1000, "ended": )" +
         us(ended) + R"(, "ended_within": 1000, "operations": [{"kind": ")" + kind + R"(", "peer": )" +
         std::to_string(peer) + R"(, "bytes": 65536, "sequence": )" + std::to_string(sequence) +
         R"(}], "left_out": 0})" + "\n";
}

inline std::string slice_line(int number, long launched, long finished) {
  return R"({"type": "slice", "time": )" + us(finished) + R"(, "device": 0, "job": 0, "unit": 1, "slice": )" +
         std::to_string(number) + R"(, "bubble": 1, "launched": )" + us(launched) + R"(, "finished": )" + us(finished) +
         R"(, "alone": 100000, "unit_done": false, "correct": null})" + "\n";
}

inline std::string move_line(long launched, long finished) {
  return R"({"type": "move", "time": )" + us(finished) +
         R"(, "device": 0, "job": 0, "way": "to_host", "bytes": 4096, )" + R"("bubble": 1, "launched": )" +
         us(launched) + R"(, "finished": )" + us(finished) + R"(, "alone": 100000})" + "\n";
}

// The first record that is not there had this time.
inline std::string limit_line(long time) {
  return R"({"type": "limit", "time": )" + us(time) + R"(, "device": 0, "bytes": 1000})" + "\n";
}

inline std::string summary_line(long begin, long end) {
  return R"({"type": "summary", "rank": 0, "device": 0, "window_begin": )" + us(begin) + R"(, "window_end": )" +
         us(end) + R"(, "iterations": 1, "bubbles": 1, "idle": 0})" + "\n";
}

// Two stages: rank 0 sends to rank 1, which waits for it in a bubble.
class WrittenRun {
 public:
  WrittenRun() {
    write(0, header_line(0, 2) + communicator_line(0) + group_line(1, "send", 1, 1, 1100, 1500) +
                 iteration_line(1, 1000, 2000, 0) + summary_line(1000, 2000));
    write(1, header_line(1, 2) + communicator_line(1) + group_line(1, "receive", 0, 1, 1050, 1450) +
                 bubble_line(1, 1060, 1460) + slice_line(1, 1100, 1300) + slice_line(2, 1200, 1400) +
                 iteration_line(1, 1000, 2000, 400) + summary_line(1000, 2000));
  }
  void write(int rank, const std::string& lines) { std::ofstream(path_of(rank), std::ios::binary) << lines; }
  std::string path_of(int rank) const {
    return traces / ("rank" + std::to_string(rank) + "." + std::to_string(100 + rank) + ".jsonl");
  }

  TemporaryDirectory traces, output;
};

}  // namespace weft::test
