// Tensors that come out of shared memory, and where they stand in a slot.
#include "runner/feed/tensor.h"

#include <gtest/gtest.h>

#include <vector>

#include "runner/feed/feed.h"
#include "runner/feed/slot_layout.h"

namespace weft {
namespace {

Tensor tensor(std::string_view name, std::uint32_t type, std::vector<std::uint64_t> shape) {
  return make_tensor(name, type, shape.data(), static_cast<std::uint32_t>(shape.size()));
}

TEST(Tensor, HasABoundedSize) {
  EXPECT_TRUE(is_sound(tensor("x", WEFT_FLOAT32, {})));
  EXPECT_TRUE(is_sound(tensor("x", WEFT_FLOAT64, {1, 2, 3, 4, 5, 6, 7, 8})));
  EXPECT_TRUE(is_sound(tensor("x", WEFT_UINT8, {Tensor::most_bytes})));
  EXPECT_FALSE(is_sound(tensor("x", WEFT_UINT16, {Tensor::most_bytes})));
  EXPECT_FALSE(is_sound(tensor("x", WEFT_UINT8, {std::uint64_t{1} << 32, std::uint64_t{1} << 32})));
  EXPECT_FALSE(is_sound(tensor("x", WEFT_UINT8, {3, 0})));
  EXPECT_FALSE(is_sound(tensor("x", 0, {3})));
  EXPECT_FALSE(is_sound(tensor("x", 13, {3})));
  EXPECT_FALSE(is_sound(tensor("", WEFT_UINT8, {3})));
  EXPECT_TRUE(is_sound(tensor(std::string(127, 'x'), WEFT_UINT8, {3})));
  EXPECT_FALSE(is_sound(tensor(std::string(128, 'x'), WEFT_UINT8, {3}))) << "its name has no end";
  Tensor variable = tensor("x", WEFT_UINT8, {});
  variable.variable = 1;
  EXPECT_FALSE(is_sound(variable)) << "it has no first dimension";
  Tensor many = tensor("x", WEFT_UINT8, {1});
  many.dimensions = 9;
  EXPECT_FALSE(is_sound(many));
}

TEST(Tensor, IsDescribedAsPeopleWriteIt) {
  EXPECT_EQ(described(tensor("x", WEFT_BFLOAT16, {3, 224})), "bfloat16 [3, 224]");
  Tensor tokens = tensor("x", WEFT_INT32, {512});
  tokens.variable = 1;
  EXPECT_EQ(described(tokens), "int32 [up to 512]");
  EXPECT_EQ(bytes_of(tokens), 2048U);
  EXPECT_EQ(bytes_of_item(tokens), 4U);
}

TEST(SlotLayout, PartsAreAlignedAndApart) {
  Tensor tokens = tensor("t", WEFT_INT32, {5});
  tokens.variable = 1;
  const SlotLayout layout(3, {tokens, tensor("x", WEFT_UINT8, {7})}, {tensor("y", WEFT_FLOAT64, {})});
  ASSERT_TRUE(layout.is_sound());
  std::uint64_t end = SlotLayout::numbers + 3 * sizeof(std::uint64_t);
  const auto follows = [&](std::uint64_t offset, std::uint64_t bytes) {
    EXPECT_EQ(offset % SlotLayout::alignment, 0U);
    EXPECT_GE(offset, end);
    end = offset + bytes;
  };
  follows(layout.inputs[0].offset, 60);
  follows(layout.inputs[0].lengths, 12);
  follows(layout.inputs[1].offset, 21);
  EXPECT_EQ(layout.inputs[1].lengths, 0U);
  follows(layout.outputs[0].offset, 24);
  EXPECT_GE(layout.bytes, end);
}

TEST(SlotLayout, ThatIsTooLargeIsNotSound) {
  const Tensor large = tensor("x", WEFT_UINT8, {Tensor::most_bytes});
  EXPECT_FALSE(SlotLayout(1, {large}, {}).is_sound());
  EXPECT_FALSE(SlotLayout(SlotLayout::most_records, {tensor("x", WEFT_UINT8, {1 << 21})}, {}).is_sound());
}

TEST(Slots, AreManyWhereTheyAreSmallAndTwoAtLeast) {
  EXPECT_EQ(slots_for(4096, 1 << 30), 16U);
  EXPECT_EQ(slots_for(4 << 20, 1 << 30), 3U) << "with the rank's own one 16 MiB";
  EXPECT_EQ(slots_for(64 << 20, 1 << 30), 2U);
  EXPECT_EQ(slots_for(1 << 20, 5 << 20), 4U);
  EXPECT_EQ(slots_for(1 << 20, 1 << 10), 2U);
}

}  // namespace
}  // namespace weft
