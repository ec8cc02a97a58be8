// Files of results as JSON Lines.
#include "feeder/files/results_lines.h"

#include <gtest/gtest.h>

#include "feeder/files/results_file.h"
#include "tests/feeder/files.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::Files;
using testing::tensor;

struct ResultsLines : Files {
  static std::string lines_in(const std::string& path) {
    std::string all;
    read_results_as_lines(path, [&](std::string_view lines) { all += lines; });
    return all;
  }
  std::string write_results(const std::string& name, const std::vector<Tensor>& outputs,
                            const std::vector<ResultsPart>& parts, std::uint64_t records) const {
    ResultsFile file(path(name), path(name), outputs, records);
    file.append(parts);
    return path(name);
  }
  template <class Number>
  static ResultsPart part(const std::vector<Number>& numbers, std::vector<std::uint32_t> lengths = {}) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return {{bytes.begin(), bytes.end()}, std::move(lengths)};
  }
};

TEST_F(ResultsLines, AllFormatsGiveTheSameLines) {
  const std::vector<Tensor> outputs{tensor("scores", WEFT_FLOAT32, {2})};
  const std::vector<ResultsPart> parts{part(std::vector<float>{1, 2.5F, -3, 0.25F})};
  const std::string wanted = "[1.0,2.5]\n[-3.0,0.25]\n";
  for (const char* const name : {"r.npy", "r.safetensors", "r.jsonl"})
    EXPECT_EQ(lines_in(write_results(name, outputs, parts, 2)), wanted) << name;
}

TEST_F(ResultsLines, OnesOfVariableLengthHaveOnlyWhatThereIs) {
  const std::vector<Tensor> outputs{tensor("text", WEFT_INT32, {3}, true), tensor("score", WEFT_INT64, {})};
  const std::vector<ResultsPart> parts{part(std::vector<std::int32_t>{7, 0, 0, 1, 2, 3}, {1, 3}),
                                       part(std::vector<std::int64_t>{-1, 5})};
  EXPECT_EQ(lines_in(write_results("r.safetensors", outputs, parts, 2)),
            "{\"text\":[7],\"score\":-1}\n{\"text\":[1,2,3],\"score\":5}\n");
}

TEST_F(ResultsLines, ManyRecordsComeInParts) {
  std::vector<std::int32_t> numbers(3'000'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  const std::string path = write_results("r.npy", {tensor("n", WEFT_INT32, {})}, {part(numbers)}, numbers.size());
  std::size_t parts = 0;
  std::int32_t next = 0;
  read_results_as_lines(path, [&](std::string_view lines) {
    ++parts;
    while (!lines.empty()) {
      const std::size_t end = lines.find('\n');
      ASSERT_EQ(lines.substr(0, end), std::to_string(next++));
      lines.remove_prefix(end + 1);
    }
  });
  EXPECT_EQ(next, 3'000'000);
  EXPECT_GT(parts, 5U);
}

TEST_F(ResultsLines, WhatHasNoLinesIsRefused) {
  EXPECT_EQ(fault_of([&] { lines_in(write("r.bin", "abc")); }),
            path("r.bin") + ": has raw bytes, of which no lines can be made");
  EXPECT_EQ(fault_of([&] { lines_in(path("small/")); }),
            path("small/") + ": is a folder of pictures, of which no lines can be made");
  EXPECT_NE(fault_of([&] { lines_in(write("r.npy", "abc")); }), "");
  EXPECT_NE(fault_of([&] { lines_in(path("none.npy")); }), "");
  const std::string half =
      write_results("h.safetensors", {tensor("x", WEFT_FLOAT16, {2})}, {part(std::vector<std::int16_t>(4))}, 2);
  EXPECT_EQ(fault_of([&] { lines_in(half); }), half + ": has float16, which no text has");
}

TEST_F(ResultsLines, LengthsThatCannotBeAreRefused) {
  const std::string path = write_results("r.safetensors", {tensor("text", WEFT_INT32, {3}, true)},
                                         {part(std::vector<std::int32_t>(6), {1, 9})}, 2);
  EXPECT_EQ(fault_of([&] { lines_in(path); }), path + ": has a length that cannot be");
}

}  // namespace
}  // namespace weft
