// Element types and reductions of the simulated NCCL: sizes, names in kernel names, and the arithmetic itself.
// Called on the engine's thread from the spin kernels, in chunks. Must not allocate, block or call the driver.
#ifndef SIMGPU_NCCL_ELEMENT_H
#define SIMGPU_NCCL_ELEMENT_H

#include <nccl.h>

#include <cstddef>

namespace simgpu::nccl {

enum class Reduction { sum, product, max, min, average, scaled_sum };

// The meaning of an ncclRedOp_t. The scalar is the one of ncclRedOpCreatePreMulSum, of the element type.
struct Operation {
  Reduction reduction = Reduction::sum;
  alignas(8) unsigned char scalar[8] = {};
  ncclDataType_t type = ncclFloat32;    // of the scalar
  const void* device_scalar = nullptr;  // read when the kernel runs, instead of `scalar`
};

bool valid_type(ncclDataType_t type);
size_t size_of(ncclDataType_t type);
const char* name_of(ncclDataType_t type);
const char* name_of(Reduction reduction);

// out[i] = inputs[0][i] (+) inputs[1][i] (+) ..., always in this order, so that results are bit-identical from run to
// run. 16- and 8-bit floats are accumulated in float and rounded once. `out` may be one of the inputs.
void reduce(void* out, const void* const* inputs, int input_count, size_t elements, ncclDataType_t type,
            Reduction reduction);

// out[i] = in[i] * scalar: the first half of a scaled sum, done by each rank on its own contribution.
void scale(void* out, const void* in, size_t elements, ncclDataType_t type, const void* scalar);

}  // namespace simgpu::nccl

#endif
