// .npy and .safetensors: what others write is read, and what cannot be is refused with a reason.
#include "feeder/files/array_file.h"

#include <gtest/gtest.h>

#include "tests/feeder/files.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::Files;
using testing::tensor;

std::string npy_of(const std::string& header, char version = 1) {
  std::string text = std::string("\x93NUMPY") + version + '\0';
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8 & 0xFF);
  if (version > 1) text += std::string(2, '\0');
  return text + header;
}

std::string fault_of_npy(const std::string& begin, std::uint64_t bytes) {
  return fault_of([&] { parse_npy("f", begin, bytes); });
}

// As NumPy 1 and 2 write it.
TEST(Npy, IsReadAsNumPyWritesIt) {
  const std::string begin = npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (100, 3, 5), }        \n");
  const StoredArray array = parse_npy("f", begin, begin.size() + 6000);
  EXPECT_EQ(described(array.tensor), "float32 [100, 3, 5]");
  EXPECT_EQ(array.offset, begin.size());
  const std::string list = npy_of("{'descr': '<i8', 'fortran_order': True, 'shape': (7,), }\n", 2);
  EXPECT_EQ(described(parse_npy("f", list, list.size() + 56).tensor), "int64 [7]");
  const std::string number = npy_of("{\"descr\": 1, 'descr': '|b1', 'fortran_order': False, 'shape': (), }\n");
  EXPECT_EQ(described(parse_npy("f", number, number.size() + 1).tensor), "uint8 []");
}

TEST(Npy, IsRefusedWithAReason) {
  const auto with = [](const std::string& type, const std::string& order, const std::string& shape) {
    const std::string begin =
        npy_of("{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n");
    return fault_of_npy(begin, begin.size() + 1000);
  };
  EXPECT_EQ(with("<f4", "False", "(250,)"), "");
  EXPECT_EQ(with("<f4", "False", "(251,)"), "f: is cut off: its float32 [251] needs 1004 bytes, and 1000 are there");
  EXPECT_EQ(with("<f4", "True", "(10, 25)"), "f: is in Fortran's order; save it with numpy.ascontiguousarray()");
  EXPECT_EQ(with(">f4", "False", "(250,)"), "f: has numbers of type '>f4', which Weft does not read");
  EXPECT_EQ(with("|O", "False", "(250,)"), "f: has numbers of type '|O', which Weft does not read");
  EXPECT_EQ(with("", "False", "(250,)"), "f: has numbers of type '', which Weft does not read");
  EXPECT_EQ(with("<f4", "False", "(0,)"), "f: has no numbers, or a shape that cannot be");
  EXPECT_EQ(with("<f4", "False", "(18446744073709551615, 2)"), "f: has no numbers, or a shape that cannot be");
  EXPECT_EQ(with("<f4", "False", "(99999999999999999999, 2)"), "f: its header cannot be read");
  EXPECT_EQ(with("<f4", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "f: it has more than 8 dimensions");
  EXPECT_EQ(with("<f4", "False", "(1, "), "f: its header cannot be read");
  EXPECT_EQ(with("<f4", "False", "(-1,)"), "f: its header cannot be read");
  EXPECT_EQ(fault_of_npy(npy_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }"), 500),
            "f: has records of several fields; save each field as an array of its own");
  EXPECT_EQ(fault_of_npy("PK\x03\x04 and so on", 500), "f: is no .npy file");
  EXPECT_EQ(fault_of_npy("", 0), "f: is no .npy file");
  EXPECT_EQ(fault_of_npy(npy_of("{}", 4), 500), "f: is a .npy file of version 4");
  EXPECT_EQ(fault_of_npy(npy_of("{'descr': '<f4'}").substr(0, 14), 14), "f: is cut off in its header");
  EXPECT_EQ(fault_of_npy(npy_of("{'shape': (1,)}"), 500), "f: its header has no 'descr'");
}

TEST(Npy, IsWrittenAsItIsRead) {
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{}, {3}, {1000000, 7}, {2, 3, 4, 5, 6, 7, 8, 9}}) {
    const Tensor wanted = tensor("array", WEFT_FLOAT64, shape);
    const std::string begin = npy_begin(wanted);
    EXPECT_EQ(begin.size() % 64, 0U);
    const StoredArray array = parse_npy("f", begin, begin.size() + bytes_of(wanted));
    EXPECT_TRUE(have_one_shape(array.tensor, wanted)) << described(array.tensor);
  }
}

TEST(Safetensors, IsReadByName) {
  const std::string header =
      R"({"__metadata__": {"format": "pt"}, "w": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]},)"
      R"( "empty": {"dtype": "F32", "shape": [0], "data_offsets": [12, 12]},)"
      R"( "new": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [12, 16]},)"
      R"( "b": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]}}   )";
  const std::vector<StoredArray> arrays = parse_safetensors("f", header, 8 + header.size() + 24);
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].tensor.text(), "b");
  EXPECT_EQ(arrays[0].offset, 8 + header.size() + 16);
  EXPECT_EQ(described(arrays[1].tensor), "bfloat16 [2, 3]");
}

TEST(Safetensors, IsRefusedWithAReason) {
  const auto with = [](const std::string& entry) {
    const std::string header = "{\"w\": " + entry + "}";
    return fault_of([&] { parse_safetensors("f", header, 8 + header.size() + 100); });
  };
  EXPECT_EQ(with(R"({"dtype": "F32", "shape": [25], "data_offsets": [0, 100]})"), "");
  EXPECT_EQ(with(R"({"dtype": "F32", "shape": [25], "data_offsets": [0, 96]})"),
            "f: tensor 'w' has another size than its shape says");
  EXPECT_EQ(with(R"({"dtype": "F32", "shape": [26], "data_offsets": [0, 104]})"),
            "f: tensor 'w' is cut off: it ends behind the end of the file");
  EXPECT_EQ(with(R"({"dtype": "F32", "shape": [1], "data_offsets": [18446744073709551612, 0]})"),
            "f: tensor 'w' is cut off: it ends behind the end of the file");
  EXPECT_EQ(with(R"({"dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 0]})"),
            "f: tensor 'w' has a name or a shape that cannot be");
  for (const char* const wrong : {"5", R"({"dtype": "F32"})", R"({"dtype": 1, "shape": [1], "data_offsets": [0, 4]})",
                                  R"({"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]})",
                                  R"({"dtype": "F32", "shape": [1.5], "data_offsets": [0, 4]})",
                                  R"({"dtype": "F32", "shape": [1], "data_offsets": [0]})"})
    EXPECT_EQ(with(wrong), "f: tensor 'w' is not described as tensors are") << wrong;
  EXPECT_EQ(fault_of([] { parse_safetensors("f", "[]", 500); }),
            "f: is no .safetensors file: its header is no JSON object");
  EXPECT_EQ(fault_of([] { parse_safetensors("f", "{", 500); }),
            "f: is no .safetensors file: its header is no JSON object");
  const std::string long_name =
      "{\"" + std::string(200, 'x') + R"(": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})";
  EXPECT_NE(fault_of([&] { parse_safetensors("f", long_name, 8 + long_name.size() + 1); }).find("a name or a shape"),
            std::string::npos);
}

using ArrayFiles = Files;

TEST_F(ArrayFiles, AreWrittenAsTheyAreRead) {
  const std::vector<Tensor> wanted{tensor("a", WEFT_INT32, {2, 2}), tensor("b", WEFT_UINT8, {3})};
  std::vector<std::uint64_t> offsets;
  const std::string begin = safetensors_begin(wanted, offsets);
  EXPECT_EQ(begin.size() % 8, 0U);
  write("f.safetensors", begin + testing::bytes_of<std::int32_t>({1, 2, 3, 4}) + "xyz");
  const ArrayFile file = open_arrays(path("f.safetensors"));
  ASSERT_NE(file.find("b"), nullptr);
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(file.file->text(file.find("b")->offset, 3), "xyz");
  EXPECT_EQ(file.find("a")->offset, offsets[0]);
}

TEST_F(ArrayFiles, OtherFilesAreRefused) {
  EXPECT_EQ(fault_of([&] { open_arrays(path("none.npy")); }), path("none.npy") + ": No such file or directory");
  EXPECT_EQ(fault_of([&] { open_arrays(folder.string() + "/.npy"); }), path(".npy") + ": No such file or directory");
  write("short.safetensors", "1234567");
  EXPECT_NE(fault_of([&] { open_arrays(path("short.safetensors")); }).find("it is too short"), std::string::npos);
  write("long.safetensors", testing::bytes_of<std::uint64_t>({1 << 20}) + "{}");
  EXPECT_NE(fault_of([&] { open_arrays(path("long.safetensors")); }).find("cut off in its header"), std::string::npos);
  write("none.safetensors", testing::bytes_of<std::uint64_t>({2}) + "{}");
  EXPECT_NE(fault_of([&] { open_arrays(path("none.safetensors")); }).find("has no tensor"), std::string::npos);
}

}  // namespace
}  // namespace weft
