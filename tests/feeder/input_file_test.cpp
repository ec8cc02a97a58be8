// Records as inputs of a job, from each kind of file.
#include "feeder/files/input_file.h"

#include <gtest/gtest.h>

#include "feeder/files/json_lines.h"
#include "tests/feeder/files.h"

namespace weft {
namespace {

using testing::bytes_of;
using testing::fault_of;
using testing::Files;
using testing::npy;
using testing::tensor;

struct InputFiles : Files {
  template <class Number>
  static std::vector<Number> record(const InputFile& file, std::size_t input, std::uint64_t number, std::size_t count,
                                    std::uint32_t* length = nullptr) {
    std::vector<Number> numbers(count, Number{99});
    const std::uint32_t found = file.read(input, number, std::as_writable_bytes(std::span(numbers)));
    if (length != nullptr) *length = found;
    return numbers;
  }
};

TEST_F(InputFiles, OfAnArrayEachStepOfTheFirstDimensionIsARecord) {
  const auto file = open_input(write("f.npy", npy({3, 2}, {1, 2, 3, 4, 5, 6})));
  const auto there = file->describe("anything");
  ASSERT_TRUE(there);
  EXPECT_EQ(described(*there), "int32 [2]");
  EXPECT_EQ(there->text(), "anything");
  file->check(tensor("x", WEFT_INT32, {2}));
  EXPECT_EQ(file->bind({tensor("x", WEFT_INT32, {2})}, InputFile::all), 3U);
  EXPECT_EQ(record<std::int32_t>(*file, 0, 2, 2), (std::vector<std::int32_t>{5, 6}));
}

TEST_F(InputFiles, AnotherShapeOrTypeIsRefused) {
  const auto file = open_input(write("f.npy", npy({3, 2}, {1, 2, 3, 4, 5, 6})));
  for (const Tensor& wrong : {tensor("x", WEFT_FLOAT32, {2}), tensor("x", WEFT_INT32, {3}), tensor("x", WEFT_INT32, {}),
                              tensor("x", WEFT_INT32, {1, 2})})
    EXPECT_EQ(fault_of([&] { file->check(wrong); }),
              path("f.npy") + ": has records of int32 [2] for 'x', and the job takes " + described(wrong));
}

// A job that takes up to so many gets as many as there are.
TEST_F(InputFiles, OfAnArrayRecordsMayBeShorterThanAJobTakes) {
  const auto file = open_input(write("f.npy", npy({2, 2}, {1, 2, 3, 4})));
  const Tensor wanted = tensor("x", WEFT_INT32, {4}, true);
  file->check(wanted);
  file->bind({wanted}, InputFile::all);
  std::uint32_t length = 0;
  EXPECT_EQ(record<std::int32_t>(*file, 0, 1, 4, &length), (std::vector<std::int32_t>{3, 4, 0, 0}));
  EXPECT_EQ(length, 2U);
  EXPECT_NE(fault_of([&] { file->check(tensor("x", WEFT_INT32, {1}, true)); }), "");
}

TEST_F(InputFiles, OfSafetensorsAllInputsHaveAsManyRecords) {
  std::vector<std::uint64_t> offsets;
  const std::string begin = safetensors_begin(
      {tensor("a", WEFT_INT32, {2}), tensor("b", WEFT_INT32, {2, 1}), tensor("c", WEFT_INT32, {1})}, offsets);
  const auto file = open_input(write("f.safetensors", begin + bytes_of<std::int32_t>({1, 2, 3, 4, 5})));
  EXPECT_FALSE(file->describe("d"));
  EXPECT_EQ(fault_of([&] { file->check(tensor("d", WEFT_INT32, {})); }),
            path("f.safetensors") + ": has no array 'd' with a first dimension for the records");
  EXPECT_EQ(fault_of([&] {
              open_input(path("f.safetensors"))
                  ->bind({tensor("a", WEFT_INT32, {}), tensor("c", WEFT_INT32, {})}, InputFile::all);
            }),
            path("f.safetensors") + ": has 2 records of 'a' and 1 of 'c'");
  EXPECT_EQ(file->bind({tensor("b", WEFT_INT32, {1}), tensor("a", WEFT_INT32, {})}, InputFile::all), 2U);
  EXPECT_EQ(record<std::int32_t>(*file, 0, 1, 1), std::vector<std::int32_t>{4});
  EXPECT_EQ(record<std::int32_t>(*file, 1, 1, 1), std::vector<std::int32_t>{2});
}

TEST_F(InputFiles, RawBytesAreRecordsOfAllInputs) {
  const std::string content = bytes_of<std::int32_t>({1, 2, 3, 4, 5, 6});
  const auto file = open_input(write("f.bin", content));
  EXPECT_FALSE(file->describe("a"));
  EXPECT_EQ(file->bind({tensor("a", WEFT_INT32, {}), tensor("b", WEFT_INT32, {2})}, InputFile::all), 2U);
  EXPECT_EQ(record<std::int32_t>(*file, 1, 1, 2), (std::vector<std::int32_t>{5, 6}));
  EXPECT_EQ(fault_of([&] { open_input(path("f.bin"))->bind({tensor("a", WEFT_INT32, {4})}, InputFile::all); }),
            path("f.bin") +
                ": has 24 bytes, which are no records of 16 bytes (endings that Weft knows: .npy, "
                ".safetensors, .jsonl)");
}

TEST_F(InputFiles, AFileThatBecomesShorterIsAFault) {
  const auto file = open_input(write("f.npy", npy({3, 2}, {1, 2, 3, 4, 5, 6})));
  file->bind({tensor("x", WEFT_INT32, {2})}, InputFile::all);
  std::filesystem::resize_file(path("f.npy"), 140);
  EXPECT_EQ(fault_of([&] { record<std::int32_t>(*file, 0, 2, 2); }),
            path("f.npy") + ": has become shorter while it was read");
}

TEST_F(InputFiles, LinesAreListsOfNumbers) {
  const auto file = open_input(write("f.jsonl", "[1, 2]\n[]\n[3,4,5]"));
  EXPECT_EQ(described(*file->describe("tokens")), "int32 [up to 3]");
  const Tensor wanted = tensor("tokens", WEFT_INT64, {3}, true);
  file->check(wanted);
  EXPECT_EQ(file->bind({wanted}, InputFile::all), 3U);
  std::uint32_t length = 9;
  EXPECT_EQ(record<std::int64_t>(*file, 0, 1, 3, &length), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(length, 0U);
  EXPECT_EQ(record<std::int64_t>(*file, 0, 2, 3, &length), (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(length, 3U);
}

TEST_F(InputFiles, LinesMayBeObjects) {
  const auto file = open_input(write("f.jsonl", "{\"id\": 7, \"x\": [0.5, 1]}\n{\"x\": [2, -3]}\n"));
  EXPECT_FALSE(file->describe("y"));
  EXPECT_EQ(file->bind({tensor("x", WEFT_FLOAT32, {2})}, InputFile::all), 2U);
  EXPECT_EQ(record<float>(*file, 0, 0, 2), (std::vector<float>{0.5F, 1}));
}

TEST_F(InputFiles, ALineThatIsNoRecordIsNamedBeforeAnyWorkIsDone) {
  const Tensor wanted = tensor("x", WEFT_INT32, {3}, true);
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"[1, 2", "is no JSON"},
      {"", "is no JSON"},
      {"7", "is no list of numbers and no object with such lists"},
      {"{\"y\": [1]}", "has no 'x'"},
      {"{\"x\": 1}", "has no list for 'x'"},
      {"[1, 2, 3, 4]", "has 4 numbers for 'x', and the job takes up to 3"},
      {"[1.5]", "has something that is no whole number"},
      {"[\"a\"]", "has something that is no whole number"},
      {"[2147483648]", "has the number 2147483648, which its type does not take"},
      {"[[1]]", "has something that is no whole number"},
      {std::string(100000, '['), "is no JSON"}};
  for (const auto& [line, why] : wrong) {
    write("f.jsonl", "[1]\n" + line + "\n[2]\n");
    EXPECT_EQ(fault_of([&] { open_input(path("f.jsonl"))->bind({wanted}, InputFile::all); }),
              path("f.jsonl") + ": line 2 " + why);
  }
  EXPECT_EQ(fault_of([&] { open_input(write("none.jsonl", "")); }), path("none.jsonl") + ": has no line");
  EXPECT_EQ(fault_of([&] {
              open_input(write("g.jsonl", "[1e39]\n"))->bind({tensor("x", WEFT_FLOAT32, {1})}, InputFile::all);
            }),
            path("g.jsonl") + ": line 1 has a number that its type does not take");
}

TEST_F(InputFiles, AFixedLengthHasToBeThat) {
  write("f.jsonl", "[1, 2, 3]\n[1, 2]\n");
  EXPECT_EQ(fault_of([&] { open_input(path("f.jsonl"))->bind({tensor("x", WEFT_INT32, {3})}, InputFile::all); }),
            path("f.jsonl") + ": line 2 has 2 numbers for 'x', and the job takes 3");
}

}  // namespace
}  // namespace weft
