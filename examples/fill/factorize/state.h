// The state of the factorizing job as the bytes of a .safetensors file: step, losses, factors. And the history of the
// losses, which says whether a unit may be taken over.
//
// Called by factorize.cpp in save(), restore() and end_unit(), on one thread at a time. Pure: bytes that are read may
// be anybody's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "descent.h"

namespace factorize {

// Losses are means of squared errors.
struct History {
  static constexpr std::size_t most = 1 << 16;
  static constexpr float most_growth = 10;  // a loss that is so many times the first one is that of a wrong rate

  float first = 0;
  float all_edges = 0;        // of all edges, behind the last step
  std::vector<float> losses;  // of the minibatches of the newest steps, 1 to `most`

  // False: the unit has not come to its end, or not to a good one, and nothing is taken.
  bool take(const float* of_steps, std::size_t steps, float of_all_edges) {
    const float reference = losses.empty() ? std::max(of_steps[0], 1e-12F) : first;
    const auto is_good = [&](float loss) { return std::isfinite(loss) && loss <= most_growth * reference; };
    if (!std::all_of(of_steps, of_steps + steps, is_good) || !is_good(of_all_edges)) return false;
    first = reference;
    all_edges = of_all_edges;
    losses.insert(losses.end(), of_steps, of_steps + steps);
    if (losses.size() > most) losses.erase(losses.begin(), losses.end() - static_cast<std::ptrdiff_t>(most));
    return true;
  }
};

// Beside the history, all that save() writes.
struct Saved {
  Shape shape;
  std::int64_t step;
  const float* factors;  // of sources, then of targets
};

constexpr std::size_t header_bytes = 1024;

inline std::uint64_t numbers_of_factors(const Shape& shape) {
  return std::uint64_t{2} * static_cast<unsigned>(shape.vertices) * static_cast<unsigned>(shape.factors);
}

inline std::uint64_t bytes_behind_header(const Shape& shape, std::uint64_t losses) {
  return sizeof(std::int64_t) + sizeof(float) * (2 + losses + numbers_of_factors(shape));
}

// All of it before the arrays: the eight bytes of its size, and text up to header_bytes.
inline std::string header_of(const Shape& shape, std::uint64_t losses) {
  std::uint64_t begin = 0;
  std::string text = "{\"__metadata__\":{\"edges\":\"" + std::to_string(shape.edges) + "\"}";
  const auto add = [&](const char* name, const char* type, std::uint64_t bytes, const std::string& dimensions) {
    text += std::string(",\"") + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + dimensions +
            "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(begin + bytes) + "]}";
    begin += bytes;
  };
  const std::uint64_t of_side = numbers_of_factors(shape) / 2 * sizeof(float);
  const std::string both = std::to_string(shape.vertices) + "," + std::to_string(shape.factors);
  add("step", "I64", sizeof(std::int64_t), "1");
  add("first_loss", "F32", sizeof(float), "1");
  add("loss_of_all_edges", "F32", sizeof(float), "1");
  add("losses", "F32", losses * sizeof(float), std::to_string(losses));
  add("source_factors", "F32", of_side, both);
  add("target_factors", "F32", of_side, both);
  text += "}";
  const std::uint64_t size = header_bytes - sizeof size;
  text.resize(size, ' ');
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text;
}

inline std::uint64_t bytes_of_state(const Shape& shape, const History& history) {
  return header_bytes + bytes_behind_header(shape, history.losses.size());
}

inline void write_state(const Saved& saved, const History& history, void* buffer) {
  auto* at = static_cast<std::byte*>(buffer);
  const auto put = [&](const void* from, std::size_t bytes) {
    std::memcpy(at, from, bytes);
    at += bytes;
  };
  put(header_of(saved.shape, history.losses.size()).data(), header_bytes);
  put(&saved.step, sizeof saved.step);
  put(&history.first, sizeof history.first);
  put(&history.all_edges, sizeof history.all_edges);
  put(history.losses.data(), history.losses.size() * sizeof(float));
  put(saved.factors, numbers_of_factors(saved.shape) * sizeof(float));
}

// "" or why these bytes are not taken: then nothing of the rest is changed. They are taken only as write_state() writes
// them for this graph and this number of factors.
inline std::string read_state(const Shape& shape, const void* buffer, std::uint64_t bytes, std::int64_t& step,
                              History& history, float* factors) {
  const std::uint64_t least = header_bytes + bytes_behind_header(shape, 1);
  const std::uint64_t most = header_bytes + bytes_behind_header(shape, History::most);
  if (bytes < least || bytes > most || (bytes - least) % sizeof(float) != 0)
    return "saved progress of " + std::to_string(bytes) + " bytes is of another graph or of other factors";
  const std::uint64_t count = 1 + (bytes - least) / sizeof(float);
  if (std::memcmp(buffer, header_of(shape, count).data(), header_bytes) != 0)
    return "saved progress is of another graph or of other factors, or of another job";
  const auto* at = static_cast<const std::byte*>(buffer) + header_bytes;
  const auto get = [&](void* to, std::size_t of) {
    std::memcpy(to, at, of);
    at += of;
  };
  std::int64_t saved_step = 0;
  History saved;
  saved.losses.resize(count);
  get(&saved_step, sizeof saved_step);
  get(&saved.first, sizeof saved.first);
  get(&saved.all_edges, sizeof saved.all_edges);
  get(saved.losses.data(), count * sizeof(float));
  const auto is_loss = [](float loss) { return std::isfinite(loss) && loss >= 0; };
  if (saved_step < static_cast<std::int64_t>(count) || saved_step > std::int64_t{1} << 60)
    return "saved progress has " + std::to_string(count) + " losses of " + std::to_string(saved_step) + " steps";
  if (!is_loss(saved.first) || !is_loss(saved.all_edges) ||
      !std::all_of(saved.losses.begin(), saved.losses.end(), is_loss))
    return "saved progress has a loss that is none";
  const std::uint64_t numbers = numbers_of_factors(shape);
  for (std::uint64_t i = 0; i < numbers; ++i) {
    float number = 0;
    std::memcpy(&number, at + i * sizeof number, sizeof number);
    if (!std::isfinite(number)) return "saved progress has a factor that is no finite number";
  }
  step = saved_step;
  history = std::move(saved);
  std::memcpy(factors, at, numbers * sizeof(float));
  return {};
}

}  // namespace factorize
