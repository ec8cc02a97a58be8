// Holds the trainer's tensor-core kernels against plain arithmetic on the host and against its float32 kernels, on
// whatever GPU is there: odd shapes, transposed operands, many heads; and runs each twice, for the same bits.
//
// One thread; prints one JSON object. Exit code 1 when something is off, 77 when there is no device.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "kernels.h"
#include "memory.h"

namespace {

using trainer::DeviceArray;
using trainer::kernels::Attention;
using trainer::kernels::Product;

using Numbers = std::vector<float>;

Numbers random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Numbers numbers(count);
  for (float& number : numbers) number = static_cast<float>(random() >> 8) * 0x1p-23F - 1.0F;
  return numbers;
}

DeviceArray<float> on_device(const Numbers& numbers) {
  DeviceArray<float> array(numbers.size());
  CHECK(cudaMemcpy(array.data(), numbers.data(), array.bytes(), cudaMemcpyHostToDevice));
  return array;
}

Numbers from_device(const DeviceArray<float>& array) {
  Numbers numbers(array.size());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(numbers.data(), array.data(), array.bytes(), cudaMemcpyDeviceToHost));
  return numbers;
}

// Largest difference, as a share of the largest number.
double difference(const Numbers& a, const Numbers& b) {
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    if (std::isnan(a[i])) return INFINITY;
  }
  return worst / largest;
}

bool same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct Findings {
  int checks = 0, wrong = 0;
  double worst_product = 0, worst_attention = 0;

  void expect(bool holds, const std::string& what) {
    ++checks;
    if (holds) return;
    ++wrong;
    std::fprintf(stderr, "kernels_check: %s\n", what.c_str());
  }
};

struct Shape {
  int m, n, k;
  bool transpose_a, transpose_b, bias, accumulate;
};

Numbers product_on_host(const Shape& s, const Numbers& a, const Numbers& b, const Numbers& bias, Numbers c) {
  const auto at = [](const Numbers& x, int row, int stride, int column) {
    return static_cast<double>(
        x[static_cast<std::size_t>(row) * static_cast<std::size_t>(stride) + static_cast<std::size_t>(column)]);
  };
  for (int row = 0; row < s.m; ++row) {
    for (int column = 0; column < s.n; ++column) {
      double sum = s.bias ? static_cast<double>(bias[static_cast<std::size_t>(column)]) : 0;
      for (int i = 0; i < s.k; ++i)
        sum += (s.transpose_a ? at(a, i, s.m, row) : at(a, row, s.k, i)) *
               (s.transpose_b ? at(b, column, s.k, i) : at(b, i, s.n, column));
      float& out = c[static_cast<std::size_t>(row) * static_cast<std::size_t>(s.n) + static_cast<std::size_t>(column)];
      out = static_cast<float>(sum + (s.accumulate ? static_cast<double>(out) : 0));
    }
  }
  return c;
}

void check_product(const Shape& s, Findings& findings) {
  const auto count = [](int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  const Numbers a = random_numbers(count(s.m, s.k), 1), b = random_numbers(count(s.k, s.n), 2);
  const Numbers bias = random_numbers(static_cast<std::size_t>(s.n), 3), c = random_numbers(count(s.m, s.n), 4);
  const DeviceArray<float> da = on_device(a), db = on_device(b), dbias = on_device(bias);
  Numbers results[2];
  for (Numbers& result : results) {
    const DeviceArray<float> dc = on_device(c);
    trainer::kernels::multiply_bf16(Product{da.data(), db.data(), s.bias ? dbias.data() : nullptr, dc.data(), s.m, s.n,
                                            s.k, s.transpose_a, s.transpose_b, s.accumulate},
                                    nullptr);
    result = from_device(dc);
  }
  const std::string name = std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) +
                           (s.transpose_a ? " a transposed" : "") + (s.transpose_b ? " b transposed" : "");
  findings.expect(same_bits(results[0], results[1]), "product " + name + ": two runs differ");
  const double off = difference(results[0], product_on_host(s, a, b, bias, c));
  findings.worst_product = std::max(findings.worst_product, off);
  findings.expect(off < 0.01, "product " + name + " is off by " + std::to_string(off));
}

// Forward and backward, tensor cores against the float32 kernels.
void check_attention(const Attention& s, Findings& findings) {
  const auto tokens = static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.sequence);
  const auto hidden = static_cast<std::size_t>(s.hidden);
  const std::size_t squares = tokens * static_cast<std::size_t>(s.heads) * static_cast<std::size_t>(s.sequence);
  const DeviceArray<float> qkv = on_device(random_numbers(3 * tokens * hidden, 5));
  const DeviceArray<float> gradient = on_device(random_numbers(tokens * hidden, 6));
  Numbers out[3], back[3];
  for (int run = 0; run < 3; ++run) {  // 0 and 1: tensor cores
    const DeviceArray<float> weights(squares), scores(squares), result(tokens * hidden),
        qkv_gradient(3 * tokens * hidden);
    CHECK(cudaDeviceSynchronize());
    const auto forward = run < 2 ? trainer::kernels::attend_bf16 : trainer::kernels::attend;
    const auto backward = run < 2 ? trainer::kernels::attend_backward_bf16 : trainer::kernels::attend_backward;
    forward(qkv.data(), weights.data(), result.data(), s, nullptr);
    backward(qkv.data(), weights.data(), gradient.data(), scores.data(), qkv_gradient.data(), s, nullptr);
    out[run] = from_device(result);
    back[run] = from_device(qkv_gradient);
  }
  const std::string name =
      "attention over " + std::to_string(s.sequence) + " with " + std::to_string(s.heads) + " heads";
  findings.expect(same_bits(out[0], out[1]) && same_bits(back[0], back[1]), name + ": two runs differ");
  const double off = std::max(difference(out[0], out[2]), difference(back[0], back[2]));
  findings.worst_attention = std::max(findings.worst_attention, off);
  findings.expect(off < 0.02, name + " is off by " + std::to_string(off));
}

// Operations per second of one large product, by the GPU's events.
double speed(int size) {
  const auto count = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  const DeviceArray<float> a(count), b(count), c(count);
  const Product product{a.data(), b.data(), nullptr, c.data(), size, size, size};
  cudaEvent_t begin = nullptr, end = nullptr;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  constexpr int times = 10;
  trainer::kernels::multiply_bf16(product, nullptr);
  CHECK(cudaEventRecord(begin));
  for (int i = 0; i < times; ++i) trainer::kernels::multiply_bf16(product, nullptr);
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  return 2.0 * times * std::pow(size, 3) / (1e-3 * static_cast<double>(milliseconds));
}

}  // namespace

// With --no-speed nothing is timed: under a tool that checks each access a large product would take minutes.
int main(int count, char** values) {
  const bool timed = count < 2 || std::string_view(values[1]) != "--no-speed";
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "kernels_check: skipped: no CUDA device is here\n");
    return 77;
  }
  trainer::kernels::load();
  trainer::kernels::load_bf16();
  Findings findings;
  for (const auto& [a, b] : {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}}) {
    check_product({256, 128, 64, a, b, true, false}, findings);
    check_product({130, 67, 45, a, b, false, true}, findings);
    check_product({36, 260, 129, a, b, true, true}, findings);
    check_product({1, 1, 1, a, b, false, false}, findings);
  }
  check_attention({2, 4, 32, 64}, findings);
  check_attention({1, 2, 150, 48}, findings);
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  const std::string name = properties.name;
  const bool simulated = name.find("Simulated") != std::string::npos;
  const double operations = simulated || !timed ? 0 : speed(8192);  // arithmetic of a simulated GPU says nothing
  std::printf(
      "{\"case\": \"trainer-kernels\", \"device\": \"%s\", \"simulated\": %s, \"holds\": %s, \"values\": {\"checks\": "
      "%d, \"wrong\": %d, "
      "\"worst_product\": %.3g, \"worst_attention\": %.3g, \"product_flops\": %.4g}}\n",
      name.c_str(), simulated ? "true" : "false", findings.wrong == 0 ? "true" : "false", findings.checks,
      findings.wrong, findings.worst_product, findings.worst_attention, operations);
  return findings.wrong == 0 ? 0 : 1;
}
