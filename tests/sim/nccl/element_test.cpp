// The arithmetic of the reductions against values worked out by hand, for every type.
#include "element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace simgpu::nccl {
namespace {

template <class T>
T reduce_two(T a, T b, ncclDataType_t type, Reduction reduction) {
  const void* inputs[] = {&a, &b};
  T out{};
  reduce(&out, inputs, 2, 1, type, reduction);
  return out;
}

template <class T>
void check_integers(ncclDataType_t type) {
  EXPECT_EQ(size_of(type), sizeof(T));
  EXPECT_EQ(reduce_two<T>(3, 5, type, Reduction::sum), T{8});
  EXPECT_EQ(reduce_two<T>(3, 5, type, Reduction::product), T{15});
  EXPECT_EQ(reduce_two<T>(3, 5, type, Reduction::max), T{5});
  EXPECT_EQ(reduce_two<T>(3, 5, type, Reduction::min), T{3});
  EXPECT_EQ(reduce_two<T>(3, 5, type, Reduction::average), T{4});
  EXPECT_EQ(reduce_two<T>(std::numeric_limits<T>::max(), 1, type, Reduction::sum), std::numeric_limits<T>::min());
}

TEST(Element, Integers) {
  check_integers<int8_t>(ncclInt8);
  check_integers<uint8_t>(ncclUint8);
  check_integers<int32_t>(ncclInt32);
  check_integers<uint32_t>(ncclUint32);
  check_integers<int64_t>(ncclInt64);
  check_integers<uint64_t>(ncclUint64);
  EXPECT_EQ(reduce_two<int8_t>(-3, -5, ncclInt8, Reduction::average), -4);
  EXPECT_EQ(reduce_two<int32_t>(-1, 1, ncclInt32, Reduction::max), 1);
}

template <class T>
void check_floats(ncclDataType_t type) {
  EXPECT_EQ(reduce_two<T>(T(1.5), T(-2.25), type, Reduction::sum), T(-0.75));
  EXPECT_EQ(reduce_two<T>(T(1.5), T(-2), type, Reduction::product), T(-3));
  EXPECT_EQ(reduce_two<T>(T(1.5), T(-2), type, Reduction::max), T(1.5));
  EXPECT_EQ(reduce_two<T>(T(1.5), T(-2), type, Reduction::min), T(-2));
  EXPECT_EQ(reduce_two<T>(T(1), T(2), type, Reduction::average), T(1.5));
}

TEST(Element, Floats) {
  check_floats<float>(ncclFloat32);
  check_floats<double>(ncclFloat64);
}

// Bit patterns of 1, 2 and 3 in the short formats.
struct Short {
  ncclDataType_t type;
  uint16_t one, two, three;
};

TEST(Element, ShortFloats) {
  const Short formats[] = {{ncclFloat16, 0x3c00, 0x4000, 0x4200},
                           {ncclBfloat16, 0x3f80, 0x4000, 0x4040},
                           {ncclFloat8e4m3, 0x38, 0x40, 0x44},
                           {ncclFloat8e5m2, 0x3c, 0x40, 0x42}};
  for (const Short& format : formats) {
    const auto both = [&](Reduction reduction) {
      if (size_of(format.type) == 2) return reduce_two<uint16_t>(format.one, format.two, format.type, reduction);
      return static_cast<uint16_t>(reduce_two<uint8_t>(static_cast<uint8_t>(format.one),
                                                       static_cast<uint8_t>(format.two), format.type, reduction));
    };
    EXPECT_EQ(both(Reduction::sum), format.three) << name_of(format.type);
    EXPECT_EQ(both(Reduction::product), format.two) << name_of(format.type);
    EXPECT_EQ(both(Reduction::max), format.two) << name_of(format.type);
    EXPECT_EQ(both(Reduction::min), format.one) << name_of(format.type);
  }
}

TEST(Element, ManyHalvesAreRoundedOnce) {
  // 2048 + 1 + 1 in half: rounding after each addition would stay at 2048.
  const uint16_t big = 0x6800, one = 0x3c00;
  const void* inputs[] = {&big, &one, &one};
  uint16_t out = 0;
  reduce(&out, inputs, 3, 1, ncclFloat16, Reduction::sum);
  EXPECT_EQ(out, 0x6801);
}

TEST(Element, OrderIsThatOfTheRanks) {
  const float values[] = {1e8f, 1.0f, -1e8f};
  const void* inputs[] = {&values[0], &values[1], &values[2]};
  float out = -1;
  reduce(&out, inputs, 3, 1, ncclFloat32, Reduction::sum);
  EXPECT_EQ(out, (values[0] + values[1]) + values[2]);
}

TEST(Element, OutputMayBeAnInput) {
  std::vector<int> a = {1, 2, 3};
  const std::vector<int> b = {10, 20, 30};
  const void* inputs[] = {a.data(), b.data()};
  reduce(a.data(), inputs, 2, a.size(), ncclInt32, Reduction::sum);
  EXPECT_EQ(a, (std::vector<int>{11, 22, 33}));
}

TEST(Element, Scale) {
  const double in[] = {1, -2};
  const double factor = 0.5;
  double out[2];
  scale(out, in, 2, ncclFloat64, &factor);
  EXPECT_EQ(out[0], 0.5);
  EXPECT_EQ(out[1], -1);
}

}  // namespace
}  // namespace simgpu::nccl
