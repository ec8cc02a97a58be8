// A folder of images as records: which files, in which order, what a job gets, and what becomes of hostile ones.
#include "feeder/files/image_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "feeder/identity.h"
#include "tests/feeder/files.h"
#include "tests/feeder/images.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::Files;
using testing::jpeg_file;
using testing::picture;
using testing::png_file;
using testing::tensor;

struct ImageFolders : Files {
  const Tensor size = tensor("size", WEFT_INT32, {2});
  std::unique_ptr<InputFile> open() const { return open_input(folder.string()); }
  static Tensor pixels(std::uint64_t most) { return tensor("pixels", WEFT_UINT8, {most}, true); }
  static std::vector<std::uint8_t> pixels_of(const InputFile& file, std::size_t input, std::uint64_t record,
                                             std::uint64_t most) {
    std::vector<std::uint8_t> read(most, 99);
    const std::uint32_t length = file.read(input, record, std::as_writable_bytes(std::span(read)));
    for (std::size_t i = length; i < most; ++i) EXPECT_EQ(read[i], 0);
    read.resize(length);
    return read;
  }
  static std::vector<std::int32_t> size_of(const InputFile& file, std::size_t input, std::uint64_t record) {
    std::vector<std::int32_t> read(2, 99);
    file.read(input, record, std::as_writable_bytes(std::span(read)));
    return read;
  }
  using Size = std::vector<std::int32_t>;
};

TEST_F(ImageFolders, RecordsAreItsImagesByName) {
  write("b.PNG", png_file(2, 3));
  write("a.jpeg", jpeg_file(4, 4));
  write("c.jpg", png_file(1, 1));  // a PNG all the same
  write("notes.txt", "no image");
  write(".png", "no name");
  std::filesystem::create_directory(folder / "more");
  EXPECT_EQ(image_names_in(folder.string(), [] {}), (std::vector<std::string>{"a.jpeg", "b.PNG", "c.jpg"}));
  const auto file = open();
  EXPECT_EQ(described(*file->describe("pixels")), "uint8 [up to 48]");
  EXPECT_EQ(described(*file->describe("size")), "int32 [2]");
  EXPECT_FALSE(file->describe("x"));
  file->check(pixels(48));
  file->check(size);
  EXPECT_EQ(file->bind({pixels(48), size}, InputFile::all), 3U);
  EXPECT_EQ(pixels_of(*file, 0, 1, 48), picture(2, 3));
  EXPECT_EQ(pixels_of(*file, 0, 2, 48), picture(1, 1));
  EXPECT_EQ(pixels_of(*file, 0, 0, 48).size(), 48U);
  EXPECT_EQ(size_of(*file, 1, 1), (Size{2, 3}));
}

TEST_F(ImageFolders, AnotherShapeIsRefused) {
  write("a.png", png_file(2, 3));
  const auto file = open();
  for (const Tensor& wrong : {pixels(17), tensor("pixels", WEFT_UINT8, {18}), tensor("pixels", WEFT_INT32, {18}, true),
                              tensor("pixels", WEFT_UINT8, {2, 9}, true), tensor("size", WEFT_INT32, {2}, true)})
    EXPECT_EQ(fault_of([&] { file->check(wrong); }),
              folder.string() + ": has records of " + described(*file->describe(wrong.text())) + " for '" +
                  std::string(wrong.text()) + "', and the job takes " + described(wrong));
  EXPECT_EQ(fault_of([&] { file->check(tensor("x", WEFT_INT32, {})); }),
            folder.string() + ": is a folder of images, which have 'pixels' and 'size', and no 'x'");
  EXPECT_EQ(fault_of([&] { file->bind({}, InputFile::all); }),
            folder.string() + ": is named as input, and the job takes none");
}

TEST_F(ImageFolders, WithoutImagesItIsRefused) {
  write("notes.txt", "");
  EXPECT_EQ(fault_of([&] { open(); }), folder.string() + ": is a folder without an image (.png, .jpg, .jpeg)");
}

// A look at a thousand images is that of several threads.
TEST_F(ImageFolders, WhatIsNoImageIsNamedBeforeWorkBegins) {
  const std::string image = png_file(1, 2);
  for (int i = 1000; i < 2000; ++i) write(std::to_string(i) + ".png", image);
  EXPECT_EQ(open()->bind({size}, InputFile::all), 1000U);
  write("1500.png", "no image");
  EXPECT_EQ(fault_of([&] { open(); }), path("1500.png") + ": is neither a PNG nor a JPEG image");
  write("1400.png", "");
  EXPECT_EQ(fault_of([&] { open(); }), path("1400.png") + ": is empty (and 1 more of this folder cannot be read)");
}

TEST_F(ImageFolders, OnlyFilesCountAndNothingHangs) {
  write("a.png", png_file(1, 2));
  ASSERT_EQ(::mkfifo(path("b.png").c_str(), 0600), 0);
  EXPECT_EQ(fault_of([&] { open(); }), path("b.png") + ": is not a regular file");
  std::filesystem::remove(path("b.png"));
  std::filesystem::create_symlink(path("nowhere"), path("b.png"));
  EXPECT_EQ(fault_of([&] { open(); }), path("b.png") + ": No such file or directory");
  std::filesystem::remove(path("b.png"));
  std::filesystem::create_directory(path("b.png"));
  EXPECT_EQ(open()->bind({size}, InputFile::all), 1U);
  std::filesystem::remove(path("b.png"));
  std::filesystem::create_symlink(path("a.png"), path("b.png"));
  EXPECT_EQ(open()->bind({size}, InputFile::all), 2U);
}

TEST_F(ImageFolders, ABrokenImageIsARecordWithoutPixels) {
  const std::string image = png_file(20, 30);
  write("a.png", image);
  write("b.png", image.substr(0, image.size() / 2));
  const std::uint64_t most = 20 * 30 * 3;
  const auto pixels_first = open(), size_first = open(), alone = open();
  pixels_first->bind({pixels(most), size}, InputFile::all);
  EXPECT_EQ(pixels_of(*pixels_first, 0, 1, most).size(), 0U);
  EXPECT_EQ(size_of(*pixels_first, 1, 1), (Size{0, 0}));
  EXPECT_EQ(pixels_of(*pixels_first, 0, 0, most), picture(20, 30));
  size_first->bind({size, pixels(most)}, InputFile::all);
  EXPECT_EQ(size_of(*size_first, 0, 1), (Size{0, 0}));
  EXPECT_EQ(size_of(*size_first, 0, 0), (Size{20, 30}));
  alone->bind({size}, InputFile::all);  // nothing is decoded then
  EXPECT_EQ(size_of(*alone, 0, 1), (Size{20, 30}));
}

TEST_F(ImageFolders, AnImageThatChangesIsAFault) {
  write("a.png", png_file(2, 3));
  write("b.png", png_file(2, 3));
  const auto file = open();
  file->bind({pixels(18), size}, InputFile::all);
  std::vector<std::byte> room(18);
  const auto fault = [&] { return fault_of([&] { file->read(0, 0, room); }); };
  write("a.png", png_file(2, 3) + "more");
  EXPECT_EQ(fault(), path("a.png") + ": has changed since work began");
  write("a.png", png_file(3, 2));
  EXPECT_EQ(fault(), path("a.png") + ": has changed since work began");
  std::filesystem::remove(path("a.png"));
  EXPECT_EQ(fault(), path("a.png") + ": No such file or directory");
  // Who comes later sees the folder as it is.
  EXPECT_EQ(open()->bind({size}, InputFile::all), 1U);
}

// Each rank opens the folder, and one look at it is enough for all that work on it at the same time.
TEST_F(ImageFolders, WhoComesWhileOthersReadSeesWhatTheySaw) {
  write("a.png", png_file(2, 3));
  auto first = open();
  write("a.png", "no image");
  EXPECT_EQ(described(*open()->describe("pixels")), "uint8 [up to 18]");
  first.reset();
  EXPECT_EQ(fault_of([&] { open(); }), path("a.png") + ": is neither a PNG nor a JPEG image");
  write("a.png", png_file(2, 3));
  first = open();
  write("b.png", png_file(4, 4));
  EXPECT_EQ(described(*open()->describe("pixels")), "uint8 [up to 48]");
}

// As a first look and a later one may see it: that of another folder is not given to the records of this one.
TEST_F(ImageFolders, AnImageThatChangesBeforeItsIdentityIsKnownIsAFault) {
  write("a.png", png_file(2, 3));
  const auto file = open();
  write("a.png", png_file(2, 3) + "more");
  EXPECT_EQ(fault_of([&] { identity_of_input(folder.string(), *file); }),
            path("a.png") + ": has changed since the folder was looked through");
}

TEST_F(ImageFolders, FoldersAndHiddenNamesAreNoImages) {
  write("a.png", png_file(2, 3));
  write("._a.png", "what macOS keeps beside it");
  std::filesystem::create_directory(path("b.png"));
  EXPECT_EQ(image_names_in(folder.string(), [] {}), (std::vector<std::string>{"a.png"}));
}

TEST_F(ImageFolders, ItsIdentityIsOfNamesSizesAndContents) {
  const auto identity = [&] { return identity_of_input(folder.string(), *open_input(folder.string())); };
  const std::string one = png_file(2, 3), other = png_file(3, 2);
  write("a.png", one);
  write("b.png", other);
  const std::string first = identity();
  EXPECT_EQ(first.size(), 32U);
  write("notes.txt", "no part of it");
  EXPECT_EQ(identity(), first);
  write("a.png", other);
  write("b.png", one);
  EXPECT_NE(identity(), first);
  write("a.png", one);
  write("b.png", other + "?");
  EXPECT_NE(identity(), first);
  write("b.png", other);
  EXPECT_EQ(identity(), first);
  std::filesystem::rename(path("b.png"), path("c.png"));
  EXPECT_NE(identity(), first);
  EXPECT_EQ(identity_of_input(path("a.png"), *open_input(path("a.png"))), identity_of_file(path("a.png")));
}

}  // namespace
}  // namespace weft
