// Matrix products and attention on tensor cores: the operands are rounded to bf16 on their way into shared memory, sums
// are float. For --precision bf16; see kernels.h. sim_kernels_bf16.cpp holds what the simulated GPU does.
//
// Kernels are extern "C" so that the simulated GPU finds them by name. Each block owns a tile of the result and adds in
// a fixed order, without atomics or split sums: results are bit-identical from run to run.
#include <cuda_bf16.h>
#include <mma.h>

#include <type_traits>

#include "check.h"
#include "kernels.h"

namespace {

namespace wmma = nvcuda::wmma;
using trainer::kernels::BatchedProduct;
using trainer::kernels::Slab;

constexpr int kTile = 128;     // of the result: kTile x kTile per block
constexpr int kDepth = 32;     // of a and b that are in shared memory at a time
constexpr int kPad = 8;        // elements at the end of a row, against bank conflicts
constexpr int kThreads = 256;  // 8 warps: 2 rows of 4, each with 64 x 32 results
constexpr int kWarpRows = 64;
constexpr int kWarpColumns = 32;
constexpr int kFragment = 16;
constexpr int kDown = kWarpRows / kFragment;
constexpr int kAcross = kWarpColumns / kFragment;
// A tile of an operand is kTile x kDepth or, transposed in memory, kDepth x kTile.
constexpr int kOperand = kTile * (kDepth + kPad) > kDepth*(kTile + kPad) ? kTile*(kDepth + kPad)
                                                                         : kDepth*(kTile + kPad);
constexpr int kLoads = kTile * kDepth / 4 / kThreads;  // float4 per thread, operand and step

__device__ const float* at(const float* base, const Slab& slab, int batch, int head) {
  return base + slab.per_batch * batch + slab.per_head * head;
}

// Part of an operand on its way from device memory to shared memory: kRows x kColumns as it lies in memory.
template <int kRows, int kColumns>
struct Piece {
  float4 values[kLoads];

  // Elements outside rows x columns are 0.
  __device__ void load(const float* from, int stride, int first_row, int first_column, int rows, int columns) {
    const bool aligned = stride % 4 == 0 && reinterpret_cast<unsigned long long>(from) % 16 == 0;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int place = static_cast<int>(threadIdx.x) + i * kThreads;
      const int row = first_row + place / (kColumns / 4), column = first_column + place % (kColumns / 4) * 4;
      const float* source = from + static_cast<long long>(row) * stride + column;
      if (aligned && row < rows && column + 3 < columns) {
        values[i] = *reinterpret_cast<const float4*>(source);
        continue;
      }
      values[i].x = row < rows && column < columns ? source[0] : 0.0F;
      values[i].y = row < rows && column + 1 < columns ? source[1] : 0.0F;
      values[i].z = row < rows && column + 2 < columns ? source[2] : 0.0F;
      values[i].w = row < rows && column + 3 < columns ? source[3] : 0.0F;
    }
  }

  __device__ void store(__nv_bfloat16* to) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int place = static_cast<int>(threadIdx.x) + i * kThreads;
      __nv_bfloat16* target = to + place / (kColumns / 4) * (kColumns + kPad) + place % (kColumns / 4) * 4;
      target[0] = __float2bfloat16(values[i].x);
      target[1] = __float2bfloat16(values[i].y);
      target[2] = __float2bfloat16(values[i].z);
      target[3] = __float2bfloat16(values[i].w);
    }
  }
};

// a or b: how it lies in memory and shared memory, and the fragments that tensor cores take. kAcrossDepth: a row in
// memory runs along k.
template <bool kAcrossDepth>
struct Operand {
  static constexpr int kRows = kAcrossDepth ? kTile : kDepth;
  static constexpr int kColumns = kAcrossDepth ? kDepth : kTile;
  using Loader = Piece<kRows, kColumns>;

  // `first`: of the block's tile along m or n; `size`: m or n.
  __device__ static void load(Loader& loader, const float* from, int stride, int first, int size, int depth,
                              int depth_size) {
    if (kAcrossDepth)
      loader.load(from, stride, first, depth, size, depth_size);
    else
      loader.load(from, stride, depth, first, depth_size, size);
  }
  // `along`: in the tile, along m or n.
  __device__ static const __nv_bfloat16* fragment(const __nv_bfloat16* tile, int along, int depth) {
    return kAcrossDepth ? tile + along * (kDepth + kPad) + depth : tile + depth * (kTile + kPad) + along;
  }
  static constexpr int kStride = kAcrossDepth ? kDepth + kPad : kTile + kPad;
};

using Sums = wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float>;

// One step: kDepth products of a and b out of shared memory.
template <bool kTransposeA, bool kTransposeB>
__device__ void multiply_add(const __nv_bfloat16* a, const __nv_bfloat16* b, int row, int column,
                             Sums (&sums)[kDown][kAcross]) {
  using A = Operand<!kTransposeA>;
  using B = Operand<kTransposeB>;
  using LayoutA = typename std::conditional<kTransposeA, wmma::col_major, wmma::row_major>::type;
  using LayoutB = typename std::conditional<kTransposeB, wmma::col_major, wmma::row_major>::type;
#pragma unroll
  for (int depth = 0; depth < kDepth; depth += kFragment) {
    wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, __nv_bfloat16, LayoutB> right[kAcross];
#pragma unroll
    for (int j = 0; j < kAcross; ++j)
      wmma::load_matrix_sync(right[j], B::fragment(b, column + j * kFragment, depth), B::kStride);
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, __nv_bfloat16, LayoutA> left;
      wmma::load_matrix_sync(left, A::fragment(a, row + i * kFragment, depth), A::kStride);
#pragma unroll
      for (int j = 0; j < kAcross; ++j) wmma::mma_sync(sums[i][j], left, right[j], sums[i][j]);
    }
  }
}

// Results of one warp, through a patch of shared memory that only this warp uses.
__device__ void write_results(const BatchedProduct& p, float* c, int row, int column, Sums (&sums)[kDown][kAcross],
                              float* patch) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < kDown; ++i) {
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
      wmma::store_matrix_sync(patch, sums[i][j], kFragment, wmma::mem_row_major);
      __syncwarp();
      for (int element = lane; element < kFragment * kFragment; element += 32) {
        const int y = row + i * kFragment + element / kFragment, x = column + j * kFragment + element % kFragment;
        if (y >= p.m || x >= p.n) continue;
        float* out = c + static_cast<long long>(y) * p.c_slab.stride + x;
        float value = p.scale * patch[element];
        if (p.bias != nullptr) value += p.bias[x];
        *out = p.accumulate ? *out + value : value;
      }
      __syncwarp();
    }
  }
}

template <bool kTransposeA, bool kTransposeB>
__device__ void multiply_tile(const BatchedProduct& p) {
  using A = Operand<!kTransposeA>;
  using B = Operand<kTransposeB>;
  __shared__ __align__(32) __nv_bfloat16 shared[4 * kOperand];  // two tiles of a, two of b
  const int batch = static_cast<int>(blockIdx.z) / p.heads, head = static_cast<int>(blockIdx.z) % p.heads;
  const float* a = at(p.a, p.a_slab, batch, head);
  const float* b = at(p.b, p.b_slab, batch, head);
  float* c = p.c + p.c_slab.per_batch * batch + p.c_slab.per_head * head;
  const int first_row = static_cast<int>(blockIdx.y) * kTile, first_column = static_cast<int>(blockIdx.x) * kTile;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / 4 * kWarpRows, column = warp % 4 * kWarpColumns;

  Sums sums[kDown][kAcross];
#pragma unroll
  for (int i = 0; i < kDown; ++i)
#pragma unroll
    for (int j = 0; j < kAcross; ++j) wmma::fill_fragment(sums[i][j], 0.0F);

  typename A::Loader next_a;
  typename B::Loader next_b;
  A::load(next_a, a, p.a_slab.stride, first_row, p.m, 0, p.k);
  B::load(next_b, b, p.b_slab.stride, first_column, p.n, 0, p.k);
  next_a.store(shared);
  next_b.store(shared + 2 * kOperand);
  __syncthreads();
  for (int depth = 0, now = 0; depth < p.k; depth += kDepth, now = 1 - now) {
    const bool more = depth + kDepth < p.k;
    if (more) {  // on their way while the tensor cores work
      A::load(next_a, a, p.a_slab.stride, first_row, p.m, depth + kDepth, p.k);
      B::load(next_b, b, p.b_slab.stride, first_column, p.n, depth + kDepth, p.k);
    }
    multiply_add<kTransposeA, kTransposeB>(shared + now * kOperand, shared + (2 + now) * kOperand, row, column, sums);
    if (more) {
      next_a.store(shared + (1 - now) * kOperand);
      next_b.store(shared + (3 - now) * kOperand);
    }
    __syncthreads();
  }
  write_results(p, c, first_row + row, first_column + column, sums,
                reinterpret_cast<float*>(shared) + warp * kFragment * kFragment);
}

__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffU, value, distance);
  return value;
}
__device__ float warp_largest(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, distance));
  return value;
}

}  // namespace

extern "C" {

__global__ void __launch_bounds__(kThreads, 2) trainer_product(BatchedProduct p) {
  multiply_tile<false, false>(p);
}
__global__ void __launch_bounds__(kThreads, 2) trainer_product_ta(BatchedProduct p) {
  multiply_tile<true, false>(p);
}
__global__ void __launch_bounds__(kThreads, 2) trainer_product_tb(BatchedProduct p) {
  multiply_tile<false, true>(p);
}

// Causal, in place: row q of each matrix of scores becomes weights that sum to 1 over the keys up to q. A warp per row.
__global__ void trainer_softmax(float* scores, int rows, int sequence) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const int query = row % sequence;
  float* w = scores + static_cast<long long>(row) * sequence;
  float largest = -1e30F, sum = 0;
  for (int key = lane; key <= query; key += 32) largest = fmaxf(largest, w[key]);
  largest = warp_largest(largest);
  for (int key = lane; key <= query; key += 32) {
    w[key] = expf(w[key] - largest);
    sum += w[key];
  }
  sum = warp_sum(sum);
  for (int key = lane; key < sequence; key += 32) w[key] = key <= query ? w[key] / sum : 0.0F;
}

// In place: gradients of weights become gradients of scores, times scale.
__global__ void trainer_softmax_backward(const float* weights, float* gradients, float scale, int rows, int sequence) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const int query = row % sequence;
  const float* w = weights + static_cast<long long>(row) * sequence;
  float* g = gradients + static_cast<long long>(row) * sequence;
  float sum = 0;
  for (int key = lane; key <= query; key += 32) sum += w[key] * g[key];
  sum = warp_sum(sum);
  for (int key = lane; key < sequence; key += 32) g[key] = key <= query ? w[key] * (g[key] - sum) * scale : 0.0F;
}

}  // extern "C"

namespace trainer::kernels {

void load_bf16() {
  cudaFuncAttributes ignored;
  const void* const all[] = {
      reinterpret_cast<const void*>(trainer_product), reinterpret_cast<const void*>(trainer_product_ta),
      reinterpret_cast<const void*>(trainer_product_tb), reinterpret_cast<const void*>(trainer_softmax),
      reinterpret_cast<const void*>(trainer_softmax_backward)};
  for (const void* kernel : all) CHECK(cudaFuncGetAttributes(&ignored, kernel));
}

void multiply_bf16(const BatchedProduct& p, bool transpose_a, bool transpose_b, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>((p.n + kTile - 1) / kTile), static_cast<unsigned>((p.m + kTile - 1) / kTile),
                    static_cast<unsigned>(p.batches * p.heads));
  if (transpose_a)
    trainer_product_ta<<<blocks, kThreads, 0, stream>>>(p);
  else if (transpose_b)
    trainer_product_tb<<<blocks, kThreads, 0, stream>>>(p);
  else
    trainer_product<<<blocks, kThreads, 0, stream>>>(p);
  check_launch();
}

void multiply_bf16(const Product& p, cudaStream_t stream) {
  BatchedProduct all;
  all.a = p.a, all.b = p.b, all.bias = p.bias, all.c = p.c;
  all.m = p.m, all.n = p.n, all.k = p.k;
  all.a_slab.stride = p.transpose_a ? p.m : p.k;
  all.b_slab.stride = p.transpose_b ? p.k : p.n;
  all.c_slab.stride = p.n;
  all.accumulate = p.accumulate ? 1 : 0;
  multiply_bf16(all, p.transpose_a, p.transpose_b, stream);
}

namespace {

constexpr int kRowThreads = 128;  // four rows per block

unsigned row_blocks(int rows) {
  return static_cast<unsigned>((rows + kRowThreads / 32 - 1) / (kRowThreads / 32));
}

// Shapes of the operands of attention, for one product over all batches and heads.
struct Layout {
  explicit Layout(const Attention& s)
      : shape(s),
        width(s.hidden / s.heads),
        square{static_cast<long long>(s.heads) * s.sequence * s.sequence,
               static_cast<long long>(s.sequence) * s.sequence, s.sequence},
        qkv{static_cast<long long>(s.sequence) * 3 * s.hidden, width, 3 * s.hidden},
        out{static_cast<long long>(s.sequence) * s.hidden, width, s.hidden},
        scale(1.0F / sqrtf(static_cast<float>(width))) {}

  BatchedProduct product(const float* a, const Slab& a_slab, const float* b, const Slab& b_slab, float* c,
                         const Slab& c_slab, int n, int k) const {
    BatchedProduct p;
    p.a = a, p.b = b, p.c = c;
    p.m = shape.sequence, p.n = n, p.k = k;
    p.heads = shape.heads, p.batches = shape.batch;
    p.a_slab = a_slab, p.b_slab = b_slab, p.c_slab = c_slab;
    return p;
  }

  Attention shape;
  int width;
  Slab square, qkv, out;
  float scale;
};

}  // namespace

void attend_bf16(const float* qkv, float* weights, float* out, const Attention& s, cudaStream_t stream) {
  const Layout layout(s);
  const int rows = s.batch * s.heads * s.sequence;
  const float *q = qkv, *k = qkv + s.hidden, *v = qkv + 2 * s.hidden;
  BatchedProduct scores =
      layout.product(q, layout.qkv, k, layout.qkv, weights, layout.square, s.sequence, layout.width);
  scores.scale = layout.scale;
  multiply_bf16(scores, false, true, stream);
  trainer_softmax<<<row_blocks(rows), kRowThreads, 0, stream>>>(weights, rows, s.sequence);
  check_launch();
  multiply_bf16(layout.product(weights, layout.square, v, layout.qkv, out, layout.out, layout.width, s.sequence), false,
                false, stream);
}

void attend_backward_bf16(const float* qkv, const float* weights, const float* gradient, float* scores,
                          float* qkv_gradient, const Attention& s, cudaStream_t stream) {
  const Layout layout(s);
  const int rows = s.batch * s.heads * s.sequence;
  const float *q = qkv, *k = qkv + s.hidden, *v = qkv + 2 * s.hidden;
  float *dq = qkv_gradient, *dk = qkv_gradient + s.hidden, *dv = qkv_gradient + 2 * s.hidden;
  const auto to_qkv = [&](const float* square, const float* other, const Slab& slab, float* result) {
    return layout.product(square, layout.square, other, slab, result, layout.qkv, layout.width, s.sequence);
  };
  multiply_bf16(layout.product(gradient, layout.out, v, layout.qkv, scores, layout.square, s.sequence, layout.width),
                false, true, stream);
  trainer_softmax_backward<<<row_blocks(rows), kRowThreads, 0, stream>>>(weights, scores, layout.scale, rows,
                                                                         s.sequence);
  check_launch();
  multiply_bf16(to_qkv(scores, k, layout.qkv, dq), false, false, stream);
  multiply_bf16(to_qkv(scores, q, layout.qkv, dk), true, false, stream);
  multiply_bf16(to_qkv(weights, gradient, layout.out, dv), true, false, stream);
}

}  // namespace trainer::kernels
