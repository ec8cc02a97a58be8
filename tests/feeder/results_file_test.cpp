// Results at their places, in each kind of file.
#include "feeder/files/results_file.h"

#include <gtest/gtest.h>

#include "tests/feeder/files.h"

namespace weft {
namespace {

using testing::bytes_of;
using testing::fault_of;
using testing::Files;
using testing::tensor;

struct ResultsFiles : Files {
  template <class Number>
  static ResultsPart part(const std::vector<Number>& numbers, std::vector<std::uint32_t> lengths = {}) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return {{bytes.begin(), bytes.end()}, std::move(lengths)};
  }
  using Numbers = std::vector<std::int32_t>;
};

TEST_F(ResultsFiles, OneOutputBecomesNpy) {
  const std::vector outputs{tensor("y", WEFT_INT32, {2})};
  {
    ResultsFile file(path("all"), "r.npy", outputs, 3);
    file.append({part<std::int32_t>({1, 2, 3, 4})});
    file.append({part<std::int32_t>({5, 6})});
    file.sync();
  }
  EXPECT_EQ(read(path("all")), testing::npy({3, 2}, {1, 2, 3, 4, 5, 6}));
}

TEST_F(ResultsFiles, SeveralBecomeSafetensorsWithLengths) {
  const std::vector outputs{tensor("y", WEFT_INT32, {2}, true), tensor("z", WEFT_INT32, {})};
  {
    ResultsFile file(path("r.safetensors"), "r.safetensors", outputs, 2);
    file.append({part<std::int32_t>({1, 2}, {2}), part<std::int32_t>({7})});
    file.append({part<std::int32_t>({3, 0}, {1}), part<std::int32_t>({8})});
  }
  const ArrayFile arrays = open_arrays(path("r.safetensors"));
  const auto content = [&](const char* name) {
    const StoredArray& array = *arrays.find(name);
    return arrays.file->text(array.offset, weft::bytes_of(array.tensor));
  };
  EXPECT_EQ(content("y"), bytes_of<std::int32_t>({1, 2, 3, 0}));
  EXPECT_EQ(content("y.lengths"), bytes_of<std::uint32_t>({2, 1}));
  EXPECT_EQ(content("z"), bytes_of<std::int32_t>({7, 8}));
}

TEST_F(ResultsFiles, LinesHaveTheLengthOfEachRecord) {
  const std::vector one{tensor("y", WEFT_INT32, {3}, true)};
  {
    ResultsFile file(path("all"), "r.jsonl", one, 2);
    file.append({part<std::int32_t>({1, 2, 3}, {2})});
    file.append({part<std::int32_t>({4, 5, 6}, {0})});
  }
  EXPECT_EQ(read(path("all")), "[1,2]\n[]\n");
}

TEST_F(ResultsFiles, LinesOfSeveralOutputsAreObjects) {
  const std::vector several{tensor("y", WEFT_INT32, {2, 2}), tensor("z", WEFT_FLOAT32, {})};
  {
    ResultsFile file(path("all"), "r.jsonl", several, 1);
    file.append({part<std::int32_t>({1, 2, 3, 4}), part<float>({0.5F})});
  }
  EXPECT_EQ(read(path("all")), "{\"y\":[[1,2],[3,4]],\"z\":0.5}\n");
}

TEST_F(ResultsFiles, OutputsThatAFileCannotHaveAreRefused) {
  const auto fault = [](const char* results, const std::vector<Tensor>& outputs) {
    return fault_of([&] { check_results(results, outputs); });
  };
  const Tensor fixed = tensor("y", WEFT_INT32, {2}), other = tensor("z", WEFT_INT32, {}),
               variable = tensor("y", WEFT_INT32, {2}, true), half = tensor("y", WEFT_BFLOAT16, {2});
  for (const char* const results : {"r.npy", "r.bin"}) {
    EXPECT_EQ(fault(results, {fixed}), "");
    EXPECT_NE(fault(results, {fixed, other}).find("takes one of fixed size"), std::string::npos);
    EXPECT_NE(fault(results, {variable}).find("takes one of fixed size"), std::string::npos);
  }
  EXPECT_EQ(fault("r.safetensors", {variable, other}), "");
  EXPECT_EQ(fault("r.bin", {half}), "");
  EXPECT_NE(fault("r.npy", {half}).find("which .npy does not know"), std::string::npos);
  EXPECT_NE(fault("r.jsonl", {half}).find("which no text has"), std::string::npos);
  EXPECT_NE(fault("r.safetensors", {fixed, fixed}).find("two outputs 'y'"), std::string::npos);
  EXPECT_NE(fault("r.npy", {tensor("y", WEFT_INT8, {1, 1, 1, 1, 1, 1, 1, 1})}).find("too many dimensions"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
