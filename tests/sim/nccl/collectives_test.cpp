// Collectives between processes, with every element type and reduction, against values encoded by hand.
#include <gtest/gtest.h>

#include <cstring>

#include "ranks.h"

using ranks::Buffer;

namespace {

// How a type stores the few values that the test uses; all of them are exact in every floating-point type.
struct Encoding {
  ncclDataType_t type;
  size_t bytes;
  uint64_t one, one_and_a_half, two, three, four;
};
constexpr Encoding encodings[] = {
    {ncclInt8, 1, 1, 1, 2, 3, 4},
    {ncclUint8, 1, 1, 1, 2, 3, 4},
    {ncclInt32, 4, 1, 1, 2, 3, 4},
    {ncclUint32, 4, 1, 1, 2, 3, 4},
    {ncclInt64, 8, 1, 1, 2, 3, 4},
    {ncclUint64, 8, 1, 1, 2, 3, 4},
    {ncclFloat16, 2, 0x3c00, 0x3e00, 0x4000, 0x4200, 0x4400},
    {ncclFloat32, 4, 0x3f800000, 0x3fc00000, 0x40000000, 0x40400000, 0x40800000},
    {ncclFloat64, 8, 0x3ff0000000000000, 0x3ff8000000000000, 0x4000000000000000, 0x4008000000000000,
     0x4010000000000000},
    {ncclBfloat16, 2, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080},
    {ncclFloat8e4m3, 1, 0x38, 0x3c, 0x40, 0x44, 0x48},
    {ncclFloat8e5m2, 1, 0x3c, 0x3e, 0x40, 0x42, 0x44},
};

constexpr size_t count = 1000;

struct Data {
  Buffer<unsigned char> memory;
  size_t element;
  Data(const Encoding& encoding, size_t elements, uint64_t value)
      : memory(elements * encoding.bytes), element(encoding.bytes) {
    for (size_t i = 0; i < elements; ++i) std::memcpy(memory.data() + i * element, &value, element);
  }
  uint64_t at(size_t i) const {
    uint64_t value = 0;
    std::memcpy(&value, memory.data() + i * element, element);
    return value;
  }
};

}  // namespace

// Rank 0 gives 1, rank 1 gives 2.
SCENARIO(reductions) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  for (const Encoding& encoding : encodings) {
    const std::pair<ncclRedOp_t, uint64_t> results[] = {{ncclSum, encoding.three},
                                                        {ncclProd, encoding.two},
                                                        {ncclMax, encoding.two},
                                                        {ncclMin, encoding.one},
                                                        {ncclAvg, encoding.one_and_a_half}};
    const Data given(encoding, 2 * count, self.rank == 0 ? encoding.one : encoding.two);
    for (const auto& [operation, expected] : results) {
      const Data everywhere(encoding, count, 0), at_root(encoding, count, 0), scattered(encoding, count, 0);
      NCCL(ncclAllReduce(given.memory.data(), everywhere.memory.data(), count, encoding.type, operation, communicator,
                         stream));
      NCCL(ncclReduce(given.memory.data(), at_root.memory.data(), count, encoding.type, operation, 1, communicator,
                      stream));
      NCCL(ncclReduceScatter(given.memory.data(), scattered.memory.data(), count, encoding.type, operation,
                             communicator, stream));
      CUDA(cuStreamSynchronize(stream));
      for (const size_t i : {size_t{0}, count - 1}) {
        CHECK_EQ(everywhere.at(i), expected);
        CHECK_EQ(at_root.at(i), self.rank == 1 ? expected : 0);
        CHECK_EQ(scattered.at(i), expected);
      }
    }
    ncclRedOp_t doubled;
    uint64_t factor = encoding.two;
    NCCL(ncclRedOpCreatePreMulSum(&doubled, &factor, encoding.type, ncclScalarHostImmediate, communicator));
    const Data ones(encoding, count, encoding.one), result(encoding, count, 0);
    NCCL(ncclAllReduce(ones.memory.data(), result.memory.data(), count, encoding.type, doubled, communicator, stream));
    CUDA(cuStreamSynchronize(stream));
    CHECK_EQ(result.at(count - 1), encoding.four);
    NCCL(ncclRedOpDestroy(doubled, communicator));
    CHECK_EQ(ncclRedOpDestroy(doubled, communicator), ncclInvalidArgument);
  }
  NCCL(ncclCommDestroy(communicator));
}

TEST(Collectives, EveryTypeAndReduction) {
  EXPECT_TRUE(ranks::run("reductions", {.count = 2}).finished);
}

SCENARIO(movements) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  const int root = 1;
  const auto n = static_cast<size_t>(self.count);
  Buffer<int> mine(count * n), all(count * n, -1), one(count, -1);
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = self.rank * 100'000 + static_cast<int>(i);
  const auto value = [](int rank, size_t i) { return rank * 100'000 + static_cast<int>(i); };

  NCCL(ncclAllGather(mine.data(), all.data(), count, ncclInt32, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  for (size_t i = 0; i < all.size(); ++i) CHECK_EQ(all[i], value(static_cast<int>(i / count), i % count));

  NCCL(ncclAlltoAll(mine.data(), all.data(), count, ncclInt32, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK_EQ(all[i], value(static_cast<int>(i / count), static_cast<size_t>(self.rank) * count + i % count));
  }

  NCCL(ncclScatter(mine.data(), one.data(), count, ncclInt32, root, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  for (size_t i = 0; i < count; ++i) CHECK_EQ(one[i], value(root, static_cast<size_t>(self.rank) * count + i));

  std::fill(all.begin(), all.end(), -1);
  NCCL(ncclGather(mine.data(), all.data(), count, ncclInt32, root, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK_EQ(all[i], self.rank == root ? value(static_cast<int>(i / count), i % count) : -1);
  }

  NCCL(ncclBcast(mine.data(), count, ncclInt32, root, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  for (size_t i = 0; i < count; ++i) CHECK_EQ(mine[i], value(root, i));
  NCCL(ncclCommDestroy(communicator));
}

TEST(Collectives, Movements) {
  EXPECT_TRUE(ranks::run("movements", {.count = 3}).finished);
}

// More than a ring holds, in place, mixed with sends in one group.
SCENARIO(large_and_mixed) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  const size_t size = 700'000;
  const int next = (self.rank + 1) % self.count, previous = (self.rank + self.count - 1) % self.count;
  for (int round = 0; round < 3; ++round) {
    Buffer<float> data(size), given(size, static_cast<float>(self.rank)), taken(size);
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<float>(i % 1000) * static_cast<float>(self.rank + 1);
    NCCL(ncclGroupStart());
    NCCL(ncclSend(given.data(), size, ncclFloat32, next, communicator, stream));
    NCCL(ncclAllReduce(data.data(), data.data(), size, ncclFloat32, ncclSum, communicator, stream));
    NCCL(ncclRecv(taken.data(), size, ncclFloat32, previous, communicator, stream));
    NCCL(ncclGroupEnd());
    CUDA(cuStreamSynchronize(stream));
    const int factor = self.count * (self.count + 1) / 2;
    for (size_t i = 0; i < size; ++i) CHECK_EQ(data[i], static_cast<float>(i % 1000) * static_cast<float>(factor));
    CHECK_EQ(taken[size - 1], static_cast<float>(previous));
  }
  NCCL(ncclCommDestroy(communicator));
}

TEST(Collectives, LargeAndMixedWithTransfers) {
  EXPECT_TRUE(ranks::run("large_and_mixed", {.count = 3}).finished);
}
