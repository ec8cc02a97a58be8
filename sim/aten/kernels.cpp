// Effects of PyTorch 2.11's kernels that multiply, add, fill and copy float32 tensors, also those of FSDP2's copies.
//
// Called by the simulated GPU, on its worker threads, once per launch. The parameters are laid out as PyTorch's headers
// say (ATen/native/cuda: Loops.cuh, MultiTensorApply.cuh). Nothing here may depend on anything but a launch's
// parameters.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "simgpu/kernels.h"

namespace {

// ---- element by element: number of elements, what is done, and pointers: first the result, then the operands

template <std::size_t count>
using Tensors = std::array<char*, count>;

float* floats(char* pointer) {
  return reinterpret_cast<float*>(pointer);
}

struct Multiply {
  char nothing;
  float operator()(float left, float right) const { return left * right; }
};

struct Add {
  float factor;
  float operator()(float left, float right) const { return left + factor * right; }
};

// One operand is a number of the host: the empty functor, then the number.
struct MultiplyByNumber {
  Multiply multiply;
  float number;
};

template <class Number>
struct AddNumber {
  Number number, factor;
};

struct Fill {
  float value;
};

template <class Operation>
void binary(const simgpu_launch&, int count, Operation operation, Tensors<3> tensors) {
  float* result = floats(tensors[0]);
  const float *left = floats(tensors[1]), *right = floats(tensors[2]);
  for (int i = 0; i < count; ++i) result[i] = operation(left[i], right[i]);
}

void scale(const simgpu_launch&, int count, MultiplyByNumber operation, Tensors<2> tensors) {
  for (int i = 0; i < count; ++i) floats(tensors[0])[i] = floats(tensors[1])[i] * operation.number;
}

template <class Number>
void shift(const simgpu_launch&, int count, AddNumber<Number> operation, Tensors<2> tensors) {
  auto* result = reinterpret_cast<Number*>(tensors[0]);
  const auto* operand = reinterpret_cast<const Number*>(tensors[1]);
  for (int i = 0; i < count; ++i) result[i] = operand[i] + operation.factor * operation.number;
}

void fill(const simgpu_launch&, int count, Fill operation, Tensors<1> tensors) {
  std::fill_n(floats(tensors[0]), count, operation.value);
}

// ---- copies of lists of tensors

// Two lists: copies go from the first to the second. Only tensors that have a block are part of a launch.
struct TwoLists {
  const void* addresses[2][64];
  int64_t elements[64];
  unsigned char tensor_of_block[320];
  int chunk_of_block[320];
  int first_tensor;
};
struct Nothing {
  char nothing;
};
constexpr int64_t elements_per_chunk = 65536;

void copy_list(const simgpu_launch& launch, TwoLists lists, Nothing, Nothing) {
  for (uint32_t block = 0; block < launch.grid[0]; ++block) {
    const int tensor = lists.tensor_of_block[block];
    const int64_t begin = lists.chunk_of_block[block] * elements_per_chunk;
    const int64_t end = std::min(lists.elements[tensor], begin + elements_per_chunk);
    const auto* from = static_cast<const float*>(lists.addresses[0][tensor]);
    auto* to = static_cast<float*>(const_cast<void*>(lists.addresses[1][tensor]));
    std::copy(from + begin, from + end, to + begin);
  }
}

// Tensors one behind the other. Each row of the grid copies one of them.
struct Shape {
  uint32_t sizes[4], strides[4];
};
struct Inputs {
  const char* addresses[128];
  uint32_t offsets[128], sizes[128], elements[128];
  bool contiguous[128];
  Shape shape;
};
constexpr size_t element_bytes = 4;

void concatenate(const simgpu_launch& launch, char* to, Inputs inputs, Shape, int, uint32_t elements_per_offset) {
  for (uint32_t tensor = 0; tensor < launch.grid[1]; ++tensor)
    std::memcpy(to + inputs.offsets[tensor] * elements_per_offset * element_bytes, inputs.addresses[tensor],
                inputs.elements[tensor] * element_bytes);
}

// Gathered data has one chunk per rank, each with a piece of every tensor: the pieces of a tensor are put together.
void unpack(const simgpu_launch& launch, char** to, char** from, int64_t* piece_bytes, int64_t* tensor_of_block,
            int64_t* blocks_before, int64_t chunk_bytes, int64_t chunks) {
  for (uint32_t block = 0; block < launch.grid[0]; ++block) {
    const int64_t tensor = tensor_of_block[block];
    if (blocks_before[tensor] != block) continue;  // the first block of a tensor does it all
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      std::memcpy(to[tensor] + chunk * piece_bytes[tensor], from[tensor] + chunk * chunk_bytes,
                  static_cast<size_t>(piece_bytes[tensor]));
  }
}

// The reverse: tensors cut into as many pieces as there are ranks, the last ones filled up with zeros.
void pack(const simgpu_launch& launch, char** from, char* to, int64_t* tensor_of_block, int64_t* offset_in_chunk,
          int64_t* first_block, int64_t* tensor_bytes, int64_t* piece_bytes, int64_t*, int64_t slice_bytes,
          int64_t chunk_bytes, int64_t) {
  for (uint32_t slice = 0; slice < launch.grid[2]; ++slice)
    for (uint32_t chunk = 0; chunk < launch.grid[1]; ++chunk)
      for (uint32_t block = 0; block < launch.grid[0]; ++block) {
        const int64_t tensor = tensor_of_block[block];
        if (first_block[tensor] != block) continue;
        const int64_t piece = piece_bytes[tensor], begin = chunk * piece;
        const int64_t there = std::clamp(tensor_bytes[tensor] - begin, int64_t{0}, piece);
        char* out = to + slice * slice_bytes + chunk * chunk_bytes + offset_in_chunk[tensor];
        std::memcpy(out, from[tensor] + slice * tensor_bytes[tensor] + begin, static_cast<size_t>(there));
        std::memset(out + there, 0, static_cast<size_t>(piece - there));
      }
}

// ---- the sum of all elements of a tensor of int64: the sizes of pickled objects

template <int count>
struct Offsets {
  int dimensions;
  uint32_t dividers[25][3], strides[25][count];
};
struct Sum {
  char operation;
  int64_t identity;
  int element_bytes, inputs, outputs, more_configuration[13];
  Offsets<1> in;
  Offsets<2> out;
  const int64_t* from;
  int64_t* to;
};

void sum(const simgpu_launch&, Sum sum) {
  if (sum.outputs == 1) *sum.to = std::accumulate(sum.from, sum.from + sum.inputs, sum.identity);
}

// ---- the table

// No cost: all keep the device's time per block.
template <auto run>
simgpu_kernel kernel(const char* name) {
  using Run = simgpu::Typed<decltype(run)>;
  return {sizeof(simgpu_kernel), name, Run::count, Run::sizes, &Run::template call<run>, nullptr, nullptr, 32, 0};
}

#define ELEMENTWISE(functor) "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_" functor "EEviT0_T1_"
#define ELEMENTWISE_BY_2(functor) "_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_" functor "EEviT0_T1_"
#define MULTIPLY "fffNS0_15binary_internal10MulFunctorIfEEEE"
#define POINTERS(count) "St5arrayIPcLm" count "EE"
#define CONCATENATE                                                                                                    \
  "_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c30CatArrayBatchedCopy_vectorizedINS1_10OpaqueTypeILj4EEEjLi" \
  "1ELi128ELi1ELi16ELi4EEEvPcNS1_25CatArrInputTensorMetadataIT_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_"
#define LIST_COPY                                                                                                      \
  "_ZN2at6native55_GLOBAL__N__d25d856e_22_ForeachBinaryOpList_cu_a911ec4325multi_tensor_apply_kernelINS1_18TensorList" \
  "MetadataILi2EEENS1_14UnaryOpFunctorIfLi2ELi1ELi1EEEJNS0_4CopyIffEEEEEvT_T0_DpT1_"

const simgpu_kernel kernels[] = {
    kernel<binary<Multiply>>(ELEMENTWISE("13BinaryFunctorI" MULTIPLY POINTERS("3"))),
    kernel<binary<Add>>(ELEMENTWISE("15CUDAFunctor_addIfEE" POINTERS("3"))),
    kernel<scale>(ELEMENTWISE("13AUnaryFunctorI" MULTIPLY POINTERS("2"))),
    kernel<scale>(ELEMENTWISE("13BUnaryFunctorI" MULTIPLY POINTERS("2"))),
    kernel<shift<float>>(ELEMENTWISE("21CUDAFunctorOnSelf_addIfEE" POINTERS("2"))),
    kernel<shift<int>>(ELEMENTWISE("21CUDAFunctorOnSelf_addIiEE" POINTERS("2"))),
    kernel<shift<int64_t>>(ELEMENTWISE_BY_2("21CUDAFunctorOnSelf_addIlEE" POINTERS("2"))),
    kernel<fill>(ELEMENTWISE("11FillFunctorIfEE" POINTERS("1"))),
    kernel<copy_list>(LIST_COPY),
    kernel<concatenate>(CONCATENATE),
    kernel<sum>("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIlZNS0_11sum_"
                "functorIlllEclERNS_14Ten"
                "sorIteratorEEUlllE_EEjlLi4ELi4EEEEEvT1_"),
    kernel<unpack>("_ZN2at6native6detail51split_with_sizes_copy_out_contiguous_no_cast_kernelEPPcS3_PlS4_S4_ll"),
    kernel<pack>("_ZN2at6native6detail21chunk_cat_cuda_kernelIccEEvPPT0_PT_PlS8_S8_S8_S8_S8_lll"),
};
const simgpu_kernel_list list = {sizeof(simgpu_kernel_list), sizeof(kernels) / sizeof(kernels[0]), kernels};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table() {
  return &list;
}
