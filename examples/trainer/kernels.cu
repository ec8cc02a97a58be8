// The trainer's kernels for real GPUs and their launches. See kernels.h.
//
// Kernels are extern "C" so that the simulated GPU finds them under these names. Each thread owns its outputs and adds
// in a fixed order: results are bit-identical from run to run whatever else the GPU does.

#include "check.h"
#include "kernels.h"

namespace {

constexpr int tile_size = 8;           // of matrix products: tile_size x tile_size outputs per block
constexpr int threads_per_block = 64;  // of everything that works element by element
constexpr int row_threads = 4;  // where a thread has a whole row to do: few per block spread the rows over the SMs
constexpr int reduction = 256;  // threads of a sum over one array
constexpr int partials = trainer::kernels::partial_sums;

__host__ int blocks_for(int count) {
  return (count + threads_per_block - 1) / threads_per_block;
}
__host__ int row_blocks_for(int count) {
  return (count + row_threads - 1) / row_threads;
}

}  // namespace

extern "C" {

__global__ void trainer_multiply(const float* a, const float* b, const float* bias, float* c, int m, int n, int k,
                                 int transpose_a, int transpose_b, int accumulate) {
  __shared__ float tile_a[tile_size][tile_size + 1];
  __shared__ float tile_b[tile_size][tile_size + 1];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * tile_size + y, column = static_cast<int>(blockIdx.x) * tile_size + x;
  float sum = 0;
  for (int start = 0; start < k; start += tile_size) {
    const int ka = start + x, kb = start + y;
    tile_a[y][x] = row < m && ka < k ? (transpose_a ? a[ka * m + row] : a[row * k + ka]) : 0.0F;
    tile_b[y][x] = column < n && kb < k ? (transpose_b ? b[column * k + kb] : b[kb * n + column]) : 0.0F;
    __syncthreads();
    for (int i = 0; i < tile_size; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  if (row >= m || column >= n) return;
  if (bias != nullptr) sum += bias[column];
  c[row * n + column] = accumulate ? c[row * n + column] + sum : sum;
}

__global__ void trainer_add_column_sums(const float* in, float* out, int rows, int columns) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= columns) return;
  float sum = 0;
  for (int row = 0; row < rows; ++row) sum += in[row * columns + column];
  out[column] += sum;
}

__global__ void trainer_add(const float* a, const float* b, float* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = a[i] + b[i];
}

__global__ void trainer_embed(const int* tokens, const float* table, const float* positions, float* out, int count,
                              int sequence, int hidden) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count * hidden) return;
  const int token = i / hidden, column = i % hidden;
  out[i] = table[tokens[token] * hidden + column] + positions[token % sequence * hidden + column];
}

__global__ void trainer_embed_backward(const int* tokens, const float* gradient, float* table, float* positions,
                                       int count, int sequence, int hidden, int vocabulary) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= (vocabulary + sequence) * hidden) return;
  const int entry = i / hidden, column = i % hidden;
  float sum = 0;
  if (entry < vocabulary) {
    for (int token = 0; token < count; ++token)
      if (tokens[token] == entry) sum += gradient[token * hidden + column];
    table[i] += sum;
  } else {
    const int position = entry - vocabulary;
    for (int token = position; token < count; token += sequence) sum += gradient[token * hidden + column];
    positions[position * hidden + column] += sum;
  }
}

__global__ void trainer_normalize(const float* in, const float* gamma, const float* beta, float* out, float* mean,
                                  float* deviation, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  const float* x = in + row * columns;
  float sum = 0, squares = 0;
  for (int i = 0; i < columns; ++i) sum += x[i];
  const float average = sum / static_cast<float>(columns);
  for (int i = 0; i < columns; ++i) squares += (x[i] - average) * (x[i] - average);
  const float inverse = rsqrtf(squares / static_cast<float>(columns) + 1e-5F);
  for (int i = 0; i < columns; ++i) out[row * columns + i] = (x[i] - average) * inverse * gamma[i] + beta[i];
  mean[row] = average;
  deviation[row] = inverse;
}

__global__ void trainer_normalize_backward(const float* gradient, const float* in, const float* gamma,
                                           const float* mean, const float* deviation, const float* residual,
                                           float* in_gradient, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  const float* x = in + row * columns;
  const float* dy = gradient + row * columns;
  float sum = 0, weighted = 0;
  for (int i = 0; i < columns; ++i) {
    const float scaled = dy[i] * gamma[i];
    sum += scaled;
    weighted += scaled * (x[i] - mean[row]) * deviation[row];
  }
  const float scale = 1.0F / static_cast<float>(columns);
  for (int i = 0; i < columns; ++i) {
    const float normal = (x[i] - mean[row]) * deviation[row];
    in_gradient[row * columns + i] =
        residual[row * columns + i] + deviation[row] * (dy[i] * gamma[i] - scale * (sum + normal * weighted));
  }
}

__global__ void trainer_normalize_parameters(const float* gradient, const float* in, const float* mean,
                                             const float* deviation, float* gamma, float* beta, int rows, int columns) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= columns) return;
  float weighted = 0, sum = 0;
  for (int row = 0; row < rows; ++row) {
    const int i = row * columns + column;
    weighted += gradient[i] * (in[i] - mean[row]) * deviation[row];
    sum += gradient[i];
  }
  gamma[column] += weighted;
  beta[column] += sum;
}

__global__ void trainer_gelu(const float* in, float* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float x = in[i];
  out[i] = 0.5F * x * (1.0F + tanhf(0.7978845608F * (x + 0.044715F * x * x * x)));
}

__global__ void trainer_gelu_backward(const float* in, const float* gradient, float* in_gradient, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float x = in[i];
  const float t = tanhf(0.7978845608F * (x + 0.044715F * x * x * x));
  const float slope = 0.7978845608F * (1.0F + 3.0F * 0.044715F * x * x);
  in_gradient[i] = gradient[i] * (0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * slope);
}

// One thread per (sequence of the batch, head, query).
__global__ void trainer_attend(const float* qkv, float* weights, float* out, int batch, int heads, int sequence,
                               int hidden) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= batch * heads * sequence) return;
  const int query = i % sequence, head = i / sequence % heads, first = i / (sequence * heads) * sequence;
  const int width = hidden / heads, offset = head * width;
  const float scale = rsqrtf(static_cast<float>(width));
  const float* q = qkv + (first + query) * 3 * hidden + offset;
  float* w = weights + i * sequence;
  float largest = -1e30F, sum = 0;
  for (int key = 0; key <= query; ++key) {
    const float* k = qkv + (first + key) * 3 * hidden + hidden + offset;
    float dot = 0;
    for (int j = 0; j < width; ++j) dot += q[j] * k[j];
    w[key] = dot * scale;
    largest = fmaxf(largest, w[key]);
  }
  for (int key = 0; key <= query; ++key) {
    w[key] = expf(w[key] - largest);
    sum += w[key];
  }
  for (int key = 0; key < sequence; ++key) w[key] = key <= query ? w[key] / sum : 0.0F;
  for (int j = 0; j < width; ++j) {
    float value = 0;
    for (int key = 0; key <= query; ++key) value += w[key] * qkv[(first + key) * 3 * hidden + 2 * hidden + offset + j];
    out[(first + query) * hidden + offset + j] = value;
  }
}

__global__ void trainer_attend_scores(const float* qkv, const float* weights, const float* gradient, float* scores,
                                      int batch, int heads, int sequence, int hidden) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= batch * heads * sequence) return;
  const int query = i % sequence, head = i / sequence % heads, first = i / (sequence * heads) * sequence;
  const int width = hidden / heads, offset = head * width;
  const float scale = rsqrtf(static_cast<float>(width));
  const float* dy = gradient + (first + query) * hidden + offset;
  const float* w = weights + i * sequence;
  float* s = scores + i * sequence;
  float sum = 0;
  for (int key = 0; key <= query; ++key) {
    const float* v = qkv + (first + key) * 3 * hidden + 2 * hidden + offset;
    float dot = 0;
    for (int j = 0; j < width; ++j) dot += dy[j] * v[j];
    s[key] = dot;
    sum += w[key] * dot;
  }
  for (int key = 0; key < sequence; ++key) s[key] = key <= query ? w[key] * (s[key] - sum) * scale : 0.0F;
}

// One thread per (sequence of the batch, head, position): the gradients of q, k and v at that position.
__global__ void trainer_attend_inputs(const float* qkv, const float* weights, const float* gradient,
                                      const float* scores, float* qkv_gradient, int batch, int heads, int sequence,
                                      int hidden) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= batch * heads * sequence) return;
  const int position = i % sequence, head = i / sequence % heads, first = i / (sequence * heads) * sequence;
  const int width = hidden / heads, offset = head * width;
  const int matrix = (i - position) * sequence;  // where this head's weights and scores begin
  for (int j = 0; j < width; ++j) {
    float dq = 0, dk = 0, dv = 0;
    for (int key = 0; key <= position; ++key)
      dq += scores[matrix + position * sequence + key] * qkv[(first + key) * 3 * hidden + hidden + offset + j];
    for (int query = position; query < sequence; ++query) {
      dk += scores[matrix + query * sequence + position] * qkv[(first + query) * 3 * hidden + offset + j];
      dv += weights[matrix + query * sequence + position] * gradient[(first + query) * hidden + offset + j];
    }
    float* out = qkv_gradient + (first + position) * 3 * hidden + offset + j;
    out[0] = dq;
    out[hidden] = dk;
    out[2 * hidden] = dv;
  }
}

__global__ void trainer_cross_entropy(float* logits, const int* targets, float* loss, float scale, int rows,
                                      int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  float* x = logits + row * columns;
  float largest = x[0], sum = 0;
  for (int i = 1; i < columns; ++i) largest = fmaxf(largest, x[i]);
  const float target = x[targets[row]] - largest;
  for (int i = 0; i < columns; ++i) {
    x[i] = expf(x[i] - largest);
    sum += x[i];
  }
  for (int i = 0; i < columns; ++i) x[i] = (x[i] / sum - (i == targets[row] ? 1.0F : 0.0F)) * scale;
  loss[row] = logf(sum) - target;
}

// out[block] = sum over every gridDim.x-th run of blockDim.x elements; with one block: the sum of everything.
__global__ void trainer_sum(const float* in, float* out, float scale, int count, int squared, int accumulate) {
  __shared__ float partial[reduction];
  const int thread = static_cast<int>(threadIdx.x);
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  float sum = 0;
  for (int i = static_cast<int>(blockIdx.x) * reduction + thread; i < count; i += stride)
    sum += squared ? in[i] * in[i] : in[i];
  partial[thread] = sum;
  for (int width = reduction / 2; width > 0; width /= 2) {
    __syncthreads();
    if (thread < width) partial[thread] += partial[thread + width];
  }
  if (thread == 0) out[blockIdx.x] = scale * partial[0] + (accumulate ? out[blockIdx.x] : 0.0F);
}

__global__ void trainer_adam(float* parameters, const float* gradients, float* first, float* second,
                             const float* square_sum, trainer::kernels::Adam settings, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float norm = sqrtf(square_sum[0]);
  const float gradient = norm > settings.clip ? gradients[i] * (settings.clip / norm) : gradients[i];
  first[i] = settings.beta1 * first[i] + (1.0F - settings.beta1) * gradient;
  second[i] = settings.beta2 * second[i] + (1.0F - settings.beta2) * gradient * gradient;
  const float step = first[i] / settings.correction1 / (sqrtf(second[i] / settings.correction2) + settings.epsilon);
  parameters[i] -= settings.learning_rate * step;
}

__global__ void trainer_publish(unsigned long long* count, unsigned long long value) {
  *static_cast<volatile unsigned long long*>(count) = value;
  __threadfence_system();
}

}  // extern "C"

namespace trainer::kernels {

void load() {
  cudaFuncAttributes ignored;
  const void* const all[] = {reinterpret_cast<const void*>(trainer_multiply),
                             reinterpret_cast<const void*>(trainer_add_column_sums),
                             reinterpret_cast<const void*>(trainer_add),
                             reinterpret_cast<const void*>(trainer_embed),
                             reinterpret_cast<const void*>(trainer_embed_backward),
                             reinterpret_cast<const void*>(trainer_normalize),
                             reinterpret_cast<const void*>(trainer_normalize_backward),
                             reinterpret_cast<const void*>(trainer_normalize_parameters),
                             reinterpret_cast<const void*>(trainer_gelu),
                             reinterpret_cast<const void*>(trainer_gelu_backward),
                             reinterpret_cast<const void*>(trainer_attend),
                             reinterpret_cast<const void*>(trainer_attend_scores),
                             reinterpret_cast<const void*>(trainer_attend_inputs),
                             reinterpret_cast<const void*>(trainer_cross_entropy),
                             reinterpret_cast<const void*>(trainer_sum),
                             reinterpret_cast<const void*>(trainer_adam),
                             reinterpret_cast<const void*>(trainer_publish)};
  for (const void* kernel : all) CHECK(cudaFuncGetAttributes(&ignored, kernel));
}

void multiply(const Product& p, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>((p.n + tile_size - 1) / tile_size),
                    static_cast<unsigned>((p.m + tile_size - 1) / tile_size));
  trainer_multiply<<<blocks, dim3(tile_size, tile_size), 0, stream>>>(p.a, p.b, p.bias, p.c, p.m, p.n, p.k,
                                                                      p.transpose_a, p.transpose_b, p.accumulate);
  check_launch();
}

void add_column_sums(const float* in, float* out, int rows, int columns, cudaStream_t stream) {
  trainer_add_column_sums<<<row_blocks_for(columns), row_threads, 0, stream>>>(in, out, rows, columns);
  check_launch();
}

void add(const float* a, const float* b, float* out, int count, cudaStream_t stream) {
  trainer_add<<<blocks_for(count), threads_per_block, 0, stream>>>(a, b, out, count);
  check_launch();
}

void embed(const int* tokens, const float* table, const float* positions, float* out, int count, int sequence,
           int hidden, cudaStream_t stream) {
  trainer_embed<<<blocks_for(count * hidden), threads_per_block, 0, stream>>>(tokens, table, positions, out, count,
                                                                              sequence, hidden);
  check_launch();
}

void embed_backward(const int* tokens, const float* gradient, float* table, float* positions, int count, int sequence,
                    int hidden, int vocabulary, cudaStream_t stream) {
  trainer_embed_backward<<<blocks_for((vocabulary + sequence) * hidden), threads_per_block, 0, stream>>>(
      tokens, gradient, table, positions, count, sequence, hidden, vocabulary);
  check_launch();
}

void normalize(const float* in, const float* gamma, const float* beta, float* out, float* mean, float* deviation,
               int rows, int columns, cudaStream_t stream) {
  trainer_normalize<<<row_blocks_for(rows), row_threads, 0, stream>>>(in, gamma, beta, out, mean, deviation, rows,
                                                                      columns);
  check_launch();
}

void normalize_backward(const float* gradient, const float* in, const float* gamma, const float* mean,
                        const float* deviation, const float* residual, float* in_gradient, int rows, int columns,
                        cudaStream_t stream) {
  trainer_normalize_backward<<<row_blocks_for(rows), row_threads, 0, stream>>>(gradient, in, gamma, mean, deviation,
                                                                               residual, in_gradient, rows, columns);
  check_launch();
}

void normalize_parameters(const float* gradient, const float* in, const float* mean, const float* deviation,
                          float* gamma, float* beta, int rows, int columns, cudaStream_t stream) {
  trainer_normalize_parameters<<<row_blocks_for(columns), row_threads, 0, stream>>>(gradient, in, mean, deviation,
                                                                                    gamma, beta, rows, columns);
  check_launch();
}

void gelu(const float* in, float* out, int count, cudaStream_t stream) {
  trainer_gelu<<<blocks_for(count), threads_per_block, 0, stream>>>(in, out, count);
  check_launch();
}

void gelu_backward(const float* in, const float* gradient, float* in_gradient, int count, cudaStream_t stream) {
  trainer_gelu_backward<<<blocks_for(count), threads_per_block, 0, stream>>>(in, gradient, in_gradient, count);
  check_launch();
}

void attend(const float* qkv, float* weights, float* out, const Attention& s, cudaStream_t stream) {
  trainer_attend<<<row_blocks_for(s.batch * s.heads * s.sequence), row_threads, 0, stream>>>(
      qkv, weights, out, s.batch, s.heads, s.sequence, s.hidden);
  check_launch();
}

void attend_backward(const float* qkv, const float* weights, const float* gradient, float* scores, float* qkv_gradient,
                     const Attention& s, cudaStream_t stream) {
  const int blocks = row_blocks_for(s.batch * s.heads * s.sequence);
  trainer_attend_scores<<<blocks, row_threads, 0, stream>>>(qkv, weights, gradient, scores, s.batch, s.heads,
                                                            s.sequence, s.hidden);
  check_launch();
  trainer_attend_inputs<<<blocks, row_threads, 0, stream>>>(qkv, weights, gradient, scores, qkv_gradient, s.batch,
                                                            s.heads, s.sequence, s.hidden);
  check_launch();
}

void cross_entropy(float* logits, const int* targets, float* loss, float scale, int rows, int columns,
                   cudaStream_t stream) {
  trainer_cross_entropy<<<row_blocks_for(rows), row_threads, 0, stream>>>(logits, targets, loss, scale, rows, columns);
  check_launch();
}

void add_sum(const float* in, float* out, float scale, int count, cudaStream_t stream) {
  trainer_sum<<<1, reduction, 0, stream>>>(in, out, scale, count, 0, 1);
  check_launch();
}

void square_sum(const float* in, float* scratch, float* out, int count, cudaStream_t stream) {
  trainer_sum<<<partials, reduction, 0, stream>>>(in, scratch, 1.0F, count, 1, 0);
  check_launch();
  trainer_sum<<<1, reduction, 0, stream>>>(scratch, out, 1.0F, partials, 0, 0);
  check_launch();
}

void adam(float* parameters, const float* gradients, float* first, float* second, const float* square_sum,
          const Adam& settings, int count, cudaStream_t stream) {
  trainer_adam<<<blocks_for(count), threads_per_block, 0, stream>>>(parameters, gradients, first, second, square_sum,
                                                                    settings, count);
  check_launch();
}

void publish(unsigned long long* count, unsigned long long value, cudaStream_t stream) {
  trainer_publish<<<1, 1, 0, stream>>>(count, value);
  check_launch();
}

}  // namespace trainer::kernels
