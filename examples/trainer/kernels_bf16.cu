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

constexpr int tile_size = 128;          // of the result: tile_size x tile_size per block
constexpr int tile_depth = 32;          // of a and b that are in shared memory at a time
constexpr int row_padding = 8;          // elements at the end of a row, against bank conflicts
constexpr int threads_per_block = 256;  // 8 warps: 2 rows of 4, each with 64 x 32 results
constexpr int warp_rows = 64;
constexpr int warp_columns = 32;
constexpr int fragment_size = 16;
constexpr int fragments_down = warp_rows / fragment_size;
constexpr int fragments_across = warp_columns / fragment_size;
// A tile of an operand is tile_size x tile_depth or, transposed in memory, tile_depth x tile_size.
constexpr int operand_size = tile_size * (tile_depth + row_padding) > tile_depth*(tile_size + row_padding)
                                 ? tile_size*(tile_depth + row_padding)
                                 : tile_depth*(tile_size + row_padding);
constexpr int loads_per_thread = tile_size * tile_depth / 4 / threads_per_block;  // float4 per thread, operand and step

__device__ const float* at(const float* base, const Slab& slab, int batch, int head) {
  return base + slab.per_batch * batch + slab.per_head * head;
}

// Part of an operand on its way from device memory to shared memory: row_count x column_count as it lies in memory.
template <int row_count, int column_count>
struct Piece {
  float4 values[loads_per_thread];

  // Elements outside rows x columns are 0.
  __device__ void load(const float* from, int stride, int first_row, int first_column, int rows, int columns) {
    const bool aligned = stride % 4 == 0 && reinterpret_cast<unsigned long long>(from) % 16 == 0;
#pragma unroll
    for (int i = 0; i < loads_per_thread; ++i) {
      const int place = static_cast<int>(threadIdx.x) + i * threads_per_block;
      const int row = first_row + place / (column_count / 4), column = first_column + place % (column_count / 4) * 4;
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
    for (int i = 0; i < loads_per_thread; ++i) {
      const int place = static_cast<int>(threadIdx.x) + i * threads_per_block;
      __nv_bfloat16* target =
          to + place / (column_count / 4) * (column_count + row_padding) + place % (column_count / 4) * 4;
      target[0] = __float2bfloat16(values[i].x);
      target[1] = __float2bfloat16(values[i].y);
      target[2] = __float2bfloat16(values[i].z);
      target[3] = __float2bfloat16(values[i].w);
    }
  }
};

// a or b: how it lies in memory and shared memory, and the fragments that tensor cores take. across_depth: a row in
// memory runs along k.
template <bool across_depth>
struct Operand {
  static constexpr int row_count = across_depth ? tile_size : tile_depth;
  static constexpr int column_count = across_depth ? tile_depth : tile_size;
  using Loader = Piece<row_count, column_count>;

  // `first`: of the block's tile along m or n; `size`: m or n.
  __device__ static void load(Loader& loader, const float* from, int stride, int first, int size, int depth,
                              int depth_size) {
    if (across_depth)
      loader.load(from, stride, first, depth, size, depth_size);
    else
      loader.load(from, stride, depth, first, depth_size, size);
  }
  // `along`: in the tile, along m or n.
  __device__ static const __nv_bfloat16* fragment(const __nv_bfloat16* tile, int along, int depth) {
    return across_depth ? tile + along * (tile_depth + row_padding) + depth
                        : tile + depth * (tile_size + row_padding) + along;
  }
  static constexpr int row_stride = across_depth ? tile_depth + row_padding : tile_size + row_padding;
};

using Sums = wmma::fragment<wmma::accumulator, fragment_size, fragment_size, fragment_size, float>;

// One step: tile_depth products of a and b out of shared memory.
template <bool transposed_a, bool transposed_b>
__device__ void multiply_add(const __nv_bfloat16* a, const __nv_bfloat16* b, int row, int column,
                             Sums (&sums)[fragments_down][fragments_across]) {
  using A = Operand<!transposed_a>;
  using B = Operand<transposed_b>;
  using LayoutA = typename std::conditional<transposed_a, wmma::col_major, wmma::row_major>::type;
  using LayoutB = typename std::conditional<transposed_b, wmma::col_major, wmma::row_major>::type;
#pragma unroll
  for (int depth = 0; depth < tile_depth; depth += fragment_size) {
    wmma::fragment<wmma::matrix_b, fragment_size, fragment_size, fragment_size, __nv_bfloat16, LayoutB>
        right[fragments_across];
#pragma unroll
    for (int j = 0; j < fragments_across; ++j)
      wmma::load_matrix_sync(right[j], B::fragment(b, column + j * fragment_size, depth), B::row_stride);
#pragma unroll
    for (int i = 0; i < fragments_down; ++i) {
      wmma::fragment<wmma::matrix_a, fragment_size, fragment_size, fragment_size, __nv_bfloat16, LayoutA> left;
      wmma::load_matrix_sync(left, A::fragment(a, row + i * fragment_size, depth), A::row_stride);
#pragma unroll
      for (int j = 0; j < fragments_across; ++j) wmma::mma_sync(sums[i][j], left, right[j], sums[i][j]);
    }
  }
}

// Results of one warp, through a patch of shared memory that only this warp uses.
__device__ void write_results(const BatchedProduct& p, float* c, int row, int column,
                              Sums (&sums)[fragments_down][fragments_across], float* patch) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < fragments_down; ++i) {
#pragma unroll
    for (int j = 0; j < fragments_across; ++j) {
      wmma::store_matrix_sync(patch, sums[i][j], fragment_size, wmma::mem_row_major);
      __syncwarp();
      for (int element = lane; element < fragment_size * fragment_size; element += 32) {
        const int y = row + i * fragment_size + element / fragment_size,
                  x = column + j * fragment_size + element % fragment_size;
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

template <bool transposed_a, bool transposed_b>
__device__ void multiply_tile(const BatchedProduct& p) {
  using A = Operand<!transposed_a>;
  using B = Operand<transposed_b>;
  __shared__ __align__(32) __nv_bfloat16 shared[4 * operand_size];  // two tiles of a, two of b
  const int batch = static_cast<int>(blockIdx.z) / p.heads, head = static_cast<int>(blockIdx.z) % p.heads;
  const float* a = at(p.a, p.a_slab, batch, head);
  const float* b = at(p.b, p.b_slab, batch, head);
  float* c = p.c + p.c_slab.per_batch * batch + p.c_slab.per_head * head;
  const int first_row = static_cast<int>(blockIdx.y) * tile_size,
            first_column = static_cast<int>(blockIdx.x) * tile_size;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / 4 * warp_rows, column = warp % 4 * warp_columns;

  Sums sums[fragments_down][fragments_across];
#pragma unroll
  for (int i = 0; i < fragments_down; ++i)
#pragma unroll
    for (int j = 0; j < fragments_across; ++j) wmma::fill_fragment(sums[i][j], 0.0F);

  typename A::Loader next_a;
  typename B::Loader next_b;
  A::load(next_a, a, p.a_slab.stride, first_row, p.m, 0, p.k);
  B::load(next_b, b, p.b_slab.stride, first_column, p.n, 0, p.k);
  next_a.store(shared);
  next_b.store(shared + 2 * operand_size);
  __syncthreads();
  for (int depth = 0, now = 0; depth < p.k; depth += tile_depth, now = 1 - now) {
    const bool more = depth + tile_depth < p.k;
    if (more) {  // on their way while the tensor cores work
      A::load(next_a, a, p.a_slab.stride, first_row, p.m, depth + tile_depth, p.k);
      B::load(next_b, b, p.b_slab.stride, first_column, p.n, depth + tile_depth, p.k);
    }
    multiply_add<transposed_a, transposed_b>(shared + now * operand_size, shared + (2 + now) * operand_size, row,
                                             column, sums);
    if (more) {
      next_a.store(shared + (1 - now) * operand_size);
      next_b.store(shared + (3 - now) * operand_size);
    }
    __syncthreads();
  }
  write_results(p, c, first_row + row, first_column + column, sums,
                reinterpret_cast<float*>(shared) + warp * fragment_size * fragment_size);
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

__global__ void __launch_bounds__(threads_per_block, 2) trainer_product(BatchedProduct p) {
  multiply_tile<false, false>(p);
}
__global__ void __launch_bounds__(threads_per_block, 2) trainer_product_ta(BatchedProduct p) {
  multiply_tile<true, false>(p);
}
__global__ void __launch_bounds__(threads_per_block, 2) trainer_product_tb(BatchedProduct p) {
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
  const dim3 blocks(static_cast<unsigned>((p.n + tile_size - 1) / tile_size),
                    static_cast<unsigned>((p.m + tile_size - 1) / tile_size),
                    static_cast<unsigned>(p.batches * p.heads));
  if (transpose_a)
    trainer_product_ta<<<blocks, threads_per_block, 0, stream>>>(p);
  else if (transpose_b)
    trainer_product_tb<<<blocks, threads_per_block, 0, stream>>>(p);
  else
    trainer_product<<<blocks, threads_per_block, 0, stream>>>(p);
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

constexpr int row_threads = 128;  // four rows per block

unsigned row_blocks(int rows) {
  return static_cast<unsigned>((rows + row_threads / 32 - 1) / (row_threads / 32));
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
  trainer_softmax<<<row_blocks(rows), row_threads, 0, stream>>>(weights, rows, s.sequence);
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
  trainer_softmax_backward<<<row_blocks(rows), row_threads, 0, stream>>>(weights, scores, layout.scale, rows,
                                                                         s.sequence);
  check_launch();
  multiply_bf16(to_qkv(scores, k, layout.qkv, dq), false, false, stream);
  multiply_bf16(to_qkv(scores, q, layout.qkv, dk), true, false, stream);
  multiply_bf16(to_qkv(weights, gradient, layout.out, dv), true, false, stream);
}

}  // namespace trainer::kernels
