// See text.h.
#include "text.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace trainer {
namespace {

// SplitMix64: one well-mixed number per (seed, iteration, microbatch, sequence), without state.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

Text::Text(const std::string& path, int sequence) : sequence_(sequence) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.size() < static_cast<std::size_t>(sequence) + 2)
    throw std::runtime_error("the text " + path + " cannot be read or is shorter than one sequence");
  std::array<int, 256> number{};
  number.fill(-1);
  for (const char c : bytes) {
    int& n = number[static_cast<unsigned char>(c)];
    if (n < 0) n = vocabulary(), alphabet_ += c;
    characters_.push_back(n);
  }
}

void Text::sample(unsigned seed, int iteration, int microbatch, int batch, int* inputs, int* targets) const {
  const std::uint64_t starts = characters_.size() - static_cast<std::size_t>(sequence_) - 1;
  for (int i = 0; i < batch; ++i) {
    const std::uint64_t key = (static_cast<std::uint64_t>(seed) << 40U) +
                              (static_cast<std::uint64_t>(iteration) << 20U) +
                              (static_cast<std::uint64_t>(microbatch) << 8U) + static_cast<std::uint64_t>(i);
    const std::size_t start = mix(key) % starts;
    for (int j = 0; j < sequence_; ++j) {
      const std::size_t from = start + static_cast<std::size_t>(j);
      inputs[i * sequence_ + j] = characters_[from];
      targets[i * sequence_ + j] = characters_[from + 1];
    }
  }
}

}  // namespace trainer
