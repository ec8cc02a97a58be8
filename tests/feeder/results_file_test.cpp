// Results at their places, in each kind of file.
#include "feeder/files/results_file.h"

#include <gtest/gtest.h>

#include "feeder/files/png_image.h"
#include "feeder/files/results_folder.h"
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

TEST_F(ResultsFiles, PicturesBecomeAFolderOfPng) {
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{2, 3}, {2, 3, 3}}) {
    const Tensor output = tensor("y", WEFT_UINT8, shape);
    std::vector<std::uint8_t> numbers(3 * weft::bytes_of(output));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(11 * i);
    const std::span<const std::uint8_t> all(numbers);
    const std::size_t bytes = weft::bytes_of(output);
    ResultsFile file(path("all"), "pictures/", {output}, 3, {"c.png", "a.JPG", "b.x.jpeg"});
    file.append({part<std::uint8_t>({all.begin(), all.begin() + 2 * static_cast<std::ptrdiff_t>(bytes)})});
    file.append({part<std::uint8_t>({all.end() - static_cast<std::ptrdiff_t>(bytes), all.end()})});
    file.sync();
    const char* const names[] = {"c.png", "a.png", "b.x.png"};
    for (std::size_t record = 0; record < 3; ++record) {
      const auto wanted =
          encode_png({2, 3}, shape.size() == 3 ? 3 : 1, std::as_bytes(all.subspan(record * bytes, bytes)));
      const std::string there = read(path("all/" + std::string(names[record])));
      EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(there)), wanted)) << names[record];
    }
    std::filesystem::remove_all(path("all"));
  }
}

TEST_F(ResultsFiles, PicturesHaveDifferentNames) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(picture_names({"a.png", "b.jpg"}, 2), (Names{"a.png", "b.png"}));
  EXPECT_EQ(picture_names({"a.png", "a.jpg", "a.jpg.png"}, 3), (Names{"a.png.png", "a.jpg.png", "a.jpg.png.png"}));
  EXPECT_EQ(picture_names({"a.PNG", "a.png"}, 2), (Names{"a.PNG.png", "a.png.png"}));
  EXPECT_EQ(picture_names({}, 11).front(), "00.png");
  EXPECT_EQ(picture_names({}, 11).back(), "10.png");
  EXPECT_EQ(picture_names({}, 1), Names{"0.png"});
}

TEST_F(ResultsFiles, WhatIsNoPictureHasNoFolder) {
  const auto fault = [](const char* results, const std::vector<Tensor>& outputs) {
    return fault_of([&] { check_results(results, outputs); });
  };
  const Tensor rgb = tensor("y", WEFT_UINT8, {4, 5, 3});
  EXPECT_EQ(fault("small/", {rgb}), "");
  EXPECT_EQ(fault("small/", {tensor("y", WEFT_UINT8, {4, 5})}), "");
  EXPECT_EQ(fault("/", {rgb}), "/: cannot be the folder of results");
  for (const Tensor& none :
       {tensor("y", WEFT_UINT8, {4, 5, 4}), tensor("y", WEFT_INT8, {4, 5, 3}), tensor("y", WEFT_UINT8, {4}),
        tensor("y", WEFT_UINT8, {4, 5, 3}, true), tensor("y", WEFT_UINT8, {65501, 1, 3})})
    EXPECT_EQ(fault("small/", {none}),
              "small/: is to be a folder of PNG files, for one output of uint8 [height, width, 3] or [height, width]; "
              "the job gives " +
                  described(none));
  EXPECT_NE(fault("small/", {rgb, tensor("z", WEFT_UINT8, {4, 5})}), "");
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
