// Effect and cost of the trainer's kernels on the simulated GPU: a host-kernel library (see
// sim/include/simgpu/kernels.h).
//
// Loaded by the simulated driver, called on its worker threads. The arithmetic is that of kernels.cu, in the same order
// per output where that is cheap; the results need not equal those of a GPU, only be the same in every run.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "adam_settings.h"
#include "simgpu/kernels.h"

namespace {

using Launch = simgpu_launch;

simgpu_cost cost_of(double flops, double elements) {
  return {flops, elements * sizeof(float)};
}

// ---- matrix product -------------------------------------------------------------------------------------------------

constexpr int row_count = 4, column_count = 8;  // outputs that are kept in registers

// out[row_count][column_count] of a (row-major, k columns) times b (row-major, n columns), added up in the order of k.
void multiply_tile(const float* a, int k, const float* b, int n, float out[row_count][column_count]) {
  float sum[row_count][column_count] = {};
  for (int i = 0; i < k; ++i)
    for (int row = 0; row < row_count; ++row)
      for (int column = 0; column < column_count; ++column) sum[row][column] += a[row * k + i] * b[i * n + column];
  std::memcpy(out, sum, sizeof sum);
}

const float* row_major(const float* in, int rows, int columns, bool transposed, std::vector<float>& copy, int pad_rows,
                       int pad_columns) {
  if (!transposed && rows == pad_rows && columns == pad_columns) return in;
  copy.assign(static_cast<std::size_t>(pad_rows) * static_cast<std::size_t>(pad_columns), 0.0F);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      copy[static_cast<std::size_t>(row * pad_columns + column)] =
          transposed ? in[column * rows + row] : in[row * columns + column];
  return copy.data();
}

void multiply(const Launch&, const float* a, const float* b, const float* bias, float* c, int m, int n, int k,
              int transpose_a, int transpose_b, int accumulate) {
  thread_local std::vector<float> copy_a, copy_b;
  const int padded_m = (m + row_count - 1) / row_count * row_count,
            padded_n = (n + column_count - 1) / column_count * column_count;
  const float* rows = row_major(a, m, k, transpose_a != 0, copy_a, padded_m, k);
  const float* columns = row_major(b, k, n, transpose_b != 0, copy_b, k, padded_n);
  float tile[row_count][column_count];
  for (int row = 0; row < m; row += row_count) {
    for (int column = 0; column < n; column += column_count) {
      multiply_tile(rows + row * k, k, columns + column, padded_n, tile);
      for (int i = 0; i < std::min(row_count, m - row); ++i) {
        for (int j = 0; j < std::min(column_count, n - column); ++j) {
          float* out = c + (row + i) * n + column + j;
          const float sum = tile[i][j] + (bias != nullptr ? bias[column + j] : 0.0F);
          *out = accumulate != 0 ? *out + sum : sum;
        }
      }
    }
  }
}
simgpu_cost multiply_cost(const Launch&, const float*, const float*, const float*, float*, int m, int n, int k, int,
                          int, int) {
  return cost_of(2.0 * m * n * k, 1.0 * m * k + 1.0 * k * n + 1.0 * m * n);
}

// ---- element by element, rows and columns ---------------------------------------------------------------------------

void add_column_sums(const Launch&, const float* in, float* out, int rows, int columns) {
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) out[column] += in[row * columns + column];
}
simgpu_cost add_column_sums_cost(const Launch&, const float*, float*, int rows, int columns) {
  return cost_of(1.0 * rows * columns, 1.0 * rows * columns);
}

void add(const Launch&, const float* a, const float* b, float* out, int count) {
  for (int i = 0; i < count; ++i) out[i] = a[i] + b[i];
}
simgpu_cost add_cost(const Launch&, const float*, const float*, float*, int count) {
  return cost_of(count, 3.0 * count);
}

void embed(const Launch&, const int* tokens, const float* table, const float* positions, float* out, int count,
           int sequence, int hidden) {
  for (int i = 0; i < count * hidden; ++i) {
    const int token = i / hidden, column = i % hidden;
    out[i] = table[tokens[token] * hidden + column] + positions[token % sequence * hidden + column];
  }
}
simgpu_cost embed_cost(const Launch&, const int*, const float*, const float*, float*, int count, int, int hidden) {
  return cost_of(1.0 * count * hidden, 3.0 * count * hidden);
}

void embed_backward(const Launch&, const int* tokens, const float* gradient, float* table, float* positions, int count,
                    int sequence, int hidden, int) {
  for (int token = 0; token < count; ++token) {
    for (int column = 0; column < hidden; ++column) {
      table[tokens[token] * hidden + column] += gradient[token * hidden + column];
      positions[token % sequence * hidden + column] += gradient[token * hidden + column];
    }
  }
}
simgpu_cost embed_backward_cost(const Launch&, const int*, const float*, float*, float*, int count, int sequence,
                                int hidden, int vocabulary) {
  return cost_of(1.0 * vocabulary * hidden * count, 1.0 * (vocabulary + sequence) * hidden);
}

void normalize(const Launch&, const float* in, const float* gamma, const float* beta, float* out, float* mean,
               float* deviation, int rows, int columns) {
  for (int row = 0; row < rows; ++row) {
    const float* x = in + row * columns;
    float sum = 0, squares = 0;
    for (int i = 0; i < columns; ++i) sum += x[i];
    const float average = sum / static_cast<float>(columns);
    for (int i = 0; i < columns; ++i) squares += (x[i] - average) * (x[i] - average);
    const float inverse = 1.0F / std::sqrt(squares / static_cast<float>(columns) + 1e-5F);
    for (int i = 0; i < columns; ++i) out[row * columns + i] = (x[i] - average) * inverse * gamma[i] + beta[i];
    mean[row] = average;
    deviation[row] = inverse;
  }
}
simgpu_cost normalize_cost(const Launch&, const float*, const float*, const float*, float*, float*, float*, int rows,
                           int columns) {
  return cost_of(7.0 * rows * columns, 2.0 * rows * columns);
}

void normalize_backward(const Launch&, const float* gradient, const float* in, const float* gamma, const float* mean,
                        const float* deviation, const float* residual, float* in_gradient, int rows, int columns) {
  const float scale = 1.0F / static_cast<float>(columns);
  for (int row = 0; row < rows; ++row) {
    const float* x = in + row * columns;
    const float* dy = gradient + row * columns;
    float sum = 0, weighted = 0;
    for (int i = 0; i < columns; ++i) {
      const float scaled = dy[i] * gamma[i];
      sum += scaled;
      weighted += scaled * (x[i] - mean[row]) * deviation[row];
    }
    for (int i = 0; i < columns; ++i) {
      const float normal = (x[i] - mean[row]) * deviation[row];
      in_gradient[row * columns + i] =
          residual[row * columns + i] + deviation[row] * (dy[i] * gamma[i] - scale * (sum + normal * weighted));
    }
  }
}
simgpu_cost normalize_backward_cost(const Launch&, const float*, const float*, const float*, const float*, const float*,
                                    const float*, float*, int rows, int columns) {
  return cost_of(13.0 * rows * columns, 4.0 * rows * columns);
}

void normalize_parameters(const Launch&, const float* gradient, const float* in, const float* mean,
                          const float* deviation, float* gamma, float* beta, int rows, int columns) {
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const int i = row * columns + column;
      gamma[column] += gradient[i] * (in[i] - mean[row]) * deviation[row];
      beta[column] += gradient[i];
    }
  }
}
simgpu_cost normalize_parameters_cost(const Launch&, const float*, const float*, const float*, const float*, float*,
                                      float*, int rows, int columns) {
  return cost_of(5.0 * rows * columns, 2.0 * rows * columns);
}

void gelu(const Launch&, const float* in, float* out, int count) {
  for (int i = 0; i < count; ++i) {
    const float x = in[i];
    out[i] = 0.5F * x * (1.0F + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
  }
}
simgpu_cost gelu_cost(const Launch&, const float*, float*, int count) {
  return cost_of(10.0 * count, 2.0 * count);
}

void gelu_backward(const Launch&, const float* in, const float* gradient, float* in_gradient, int count) {
  for (int i = 0; i < count; ++i) {
    const float x = in[i];
    const float t = std::tanh(0.7978845608F * (x + 0.044715F * x * x * x));
    const float slope = 0.7978845608F * (1.0F + 3.0F * 0.044715F * x * x);
    in_gradient[i] = gradient[i] * (0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * slope);
  }
}
simgpu_cost gelu_backward_cost(const Launch&, const float*, const float*, float*, int count) {
  return cost_of(18.0 * count, 3.0 * count);
}

// ---- attention ------------------------------------------------------------------------------------------------------

struct Head {  // one head of one sequence of the batch
  int first, offset, width, matrix;
};

template <class Function>
void for_each_head(int batch, int heads, int sequence, int hidden, Function&& function) {
  const int width = hidden / heads;
  for (int i = 0; i < batch * heads; ++i)
    function(Head{i / heads * sequence, i % heads * width, width, i * sequence * sequence});
}

void attend(const Launch&, const float* qkv, float* weights, float* out, int batch, int heads, int sequence,
            int hidden) {
  for_each_head(batch, heads, sequence, hidden, [&](const Head& head) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(head.width));
    for (int query = 0; query < sequence; ++query) {
      const float* q = qkv + (head.first + query) * 3 * hidden + head.offset;
      float* w = weights + head.matrix + query * sequence;
      float largest = -1e30F, sum = 0;
      for (int key = 0; key <= query; ++key) {
        const float* k = qkv + (head.first + key) * 3 * hidden + hidden + head.offset;
        float dot = 0;
        for (int j = 0; j < head.width; ++j) dot += q[j] * k[j];
        w[key] = dot * scale;
        largest = std::max(largest, w[key]);
      }
      for (int key = 0; key <= query; ++key) sum += w[key] = std::exp(w[key] - largest);
      for (int key = 0; key < sequence; ++key) w[key] = key <= query ? w[key] / sum : 0.0F;
      float* o = out + (head.first + query) * hidden + head.offset;
      std::fill(o, o + head.width, 0.0F);
      for (int key = 0; key <= query; ++key) {
        const float* v = qkv + (head.first + key) * 3 * hidden + 2 * hidden + head.offset;
        for (int j = 0; j < head.width; ++j) o[j] += w[key] * v[j];
      }
    }
  });
}
simgpu_cost attend_cost(const Launch&, const float*, float*, float*, int batch, int heads, int sequence, int hidden) {
  const double pairs = 0.5 * batch * sequence * sequence;
  return cost_of(pairs * (4.0 * hidden + 5.0 * heads), 4.0 * batch * sequence * hidden);
}

void attend_scores(const Launch&, const float* qkv, const float* weights, const float* gradient, float* scores,
                   int batch, int heads, int sequence, int hidden) {
  for_each_head(batch, heads, sequence, hidden, [&](const Head& head) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(head.width));
    for (int query = 0; query < sequence; ++query) {
      const float* dy = gradient + (head.first + query) * hidden + head.offset;
      const float* w = weights + head.matrix + query * sequence;
      float* s = scores + head.matrix + query * sequence;
      float sum = 0;
      for (int key = 0; key <= query; ++key) {
        const float* v = qkv + (head.first + key) * 3 * hidden + 2 * hidden + head.offset;
        float dot = 0;
        for (int j = 0; j < head.width; ++j) dot += dy[j] * v[j];
        s[key] = dot;
        sum += w[key] * dot;
      }
      for (int key = 0; key < sequence; ++key) s[key] = key <= query ? w[key] * (s[key] - sum) * scale : 0.0F;
    }
  });
}
simgpu_cost attend_scores_cost(const Launch&, const float*, const float*, const float*, float*, int batch, int heads,
                               int sequence, int hidden) {
  const double pairs = 0.5 * batch * sequence * sequence;
  return cost_of(pairs * (2.0 * hidden + 4.0 * heads), 3.0 * batch * sequence * hidden);
}

void attend_inputs(const Launch&, const float* qkv, const float* weights, const float* gradient, const float* scores,
                   float* qkv_gradient, int batch, int heads, int sequence, int hidden) {
  for_each_head(batch, heads, sequence, hidden, [&](const Head& head) {
    const auto row = [&](auto* base, int position, int width, int part) {
      return base + (head.first + position) * width + part * hidden + head.offset;
    };
    for (int position = 0; position < sequence; ++position)
      for (int part = 0; part < 3; ++part) {
        float* out = row(qkv_gradient, position, 3 * hidden, part);
        std::fill(out, out + head.width, 0.0F);
      }
    for (int query = 0; query < sequence; ++query) {
      for (int key = 0; key <= query; ++key) {
        const float score = scores[head.matrix + query * sequence + key];
        const float weight = weights[head.matrix + query * sequence + key];
        const float* q = row(qkv, query, 3 * hidden, 0);
        const float* k = row(qkv, key, 3 * hidden, 1);
        const float* dy = row(gradient, query, hidden, 0);
        float* dq = row(qkv_gradient, query, 3 * hidden, 0);
        float* dk = row(qkv_gradient, key, 3 * hidden, 1);
        float* dv = row(qkv_gradient, key, 3 * hidden, 2);
        for (int j = 0; j < head.width; ++j) {
          dq[j] += score * k[j];
          dk[j] += score * q[j];
          dv[j] += weight * dy[j];
        }
      }
    }
  });
}
simgpu_cost attend_inputs_cost(const Launch&, const float*, const float*, const float*, const float*, float*, int batch,
                               int, int sequence, int hidden) {
  return cost_of(3.0 * batch * sequence * sequence * hidden, 7.0 * batch * sequence * hidden);
}

// ---- loss, norm, optimizer ------------------------------------------------------------------------------------------

void cross_entropy(const Launch&, float* logits, const int* targets, float* loss, float scale, int rows, int columns) {
  for (int row = 0; row < rows; ++row) {
    float* x = logits + row * columns;
    const float largest = *std::max_element(x, x + columns);
    const float target = x[targets[row]] - largest;
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += x[i] = std::exp(x[i] - largest);
    for (int i = 0; i < columns; ++i) x[i] = (x[i] / sum - (i == targets[row] ? 1.0F : 0.0F)) * scale;
    loss[row] = std::log(sum) - target;
  }
}
simgpu_cost cross_entropy_cost(const Launch&, float*, const int*, float*, float, int rows, int columns) {
  return cost_of(6.0 * rows * columns, 2.0 * rows * columns);
}

void sum(const Launch& launch, const float* in, float* out, float scale, int count, int squared, int accumulate) {
  const int blocks = static_cast<int>(launch.grid[0]), threads = static_cast<int>(launch.block[0]);
  for (int block = 0; block < blocks; ++block) {
    float total = 0;
    for (int start = block * threads; start < count; start += blocks * threads)
      for (int i = start; i < std::min(count, start + threads); ++i) total += squared != 0 ? in[i] * in[i] : in[i];
    out[block] = scale * total + (accumulate != 0 ? out[block] : 0.0F);
  }
}
simgpu_cost sum_cost(const Launch&, const float*, float*, float, int count, int, int) {
  return cost_of(2.0 * count, count);
}

void adam(const Launch&, float* parameters, const float* gradients, float* first, float* second,
          const float* square_sum, trainer::kernels::Adam settings, int count) {
  const float norm = std::sqrt(square_sum[0]);
  const float factor = norm > settings.clip ? settings.clip / norm : 1.0F;
  for (int i = 0; i < count; ++i) {
    const float gradient = gradients[i] * factor;
    first[i] = settings.beta1 * first[i] + (1.0F - settings.beta1) * gradient;
    second[i] = settings.beta2 * second[i] + (1.0F - settings.beta2) * gradient * gradient;
    const float step =
        first[i] / settings.correction1 / (std::sqrt(second[i] / settings.correction2) + settings.epsilon);
    parameters[i] -= settings.learning_rate * step;
  }
}
simgpu_cost adam_cost(const Launch&, float*, const float*, float*, float*, const float*, trainer::kernels::Adam,
                      int count) {
  return cost_of(14.0 * count, 7.0 * count);
}

// Read by other processes while this one goes on.
void publish(const Launch&, unsigned long long* count, unsigned long long value) {
  std::atomic_ref(*count).store(value, std::memory_order_release);
}
simgpu_cost publish_cost(const Launch&, unsigned long long*, unsigned long long) {
  return cost_of(1, 2);
}

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<multiply, multiply_cost>("trainer_multiply", 40, 576),
    simgpu::kernel<add_column_sums, add_column_sums_cost>("trainer_add_column_sums"),
    simgpu::kernel<add, add_cost>("trainer_add"),
    simgpu::kernel<embed, embed_cost>("trainer_embed"),
    simgpu::kernel<embed_backward, embed_backward_cost>("trainer_embed_backward"),
    simgpu::kernel<normalize, normalize_cost>("trainer_normalize"),
    simgpu::kernel<normalize_backward, normalize_backward_cost>("trainer_normalize_backward"),
    simgpu::kernel<normalize_parameters, normalize_parameters_cost>("trainer_normalize_parameters"),
    simgpu::kernel<gelu, gelu_cost>("trainer_gelu"),
    simgpu::kernel<gelu_backward, gelu_backward_cost>("trainer_gelu_backward"),
    simgpu::kernel<attend, attend_cost>("trainer_attend"),
    simgpu::kernel<attend_scores, attend_scores_cost>("trainer_attend_scores"),
    simgpu::kernel<attend_inputs, attend_inputs_cost>("trainer_attend_inputs"),
    simgpu::kernel<cross_entropy, cross_entropy_cost>("trainer_cross_entropy"),
    simgpu::kernel<sum, sum_cost>("trainer_sum", 32, 1024),
    simgpu::kernel<adam, adam_cost>("trainer_adam"),
    simgpu::kernel<publish, publish_cost>("trainer_publish"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), static_cast<uint32_t>(std::size(kernel_table)),
                                  kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
