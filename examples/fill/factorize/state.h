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
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "descent.h"

namespace factorize {

// The losses of a unit.
struct Ended {
  float before = 0, behind = 0;     // of all edges, before the first step and behind the last one
  const float* of_steps = nullptr;  // of their minibatches
  std::size_t steps = 0;
};

// Losses are means of squared errors. That of a minibatch is one of luck, and may be that of no edge at all: only
// losses of all edges say whether the factors have become worse.
struct History {
  static constexpr std::size_t most = 1 << 16;
  static constexpr float most_growth = 10;  // a loss that is so many times the first one is that of a wrong rate
  static constexpr float least_first = 1e-12F;

  float first = 0;            // of all edges, before the very first step
  float all_edges = 0;        // of all edges, behind the last step
  std::vector<float> losses;  // of the minibatches of the newest steps, 1 to `most`

  // "", or why the unit has not come to a good end: then nothing is taken.
  std::string take(const Ended& unit) {
    const float reference = losses.empty() ? std::max(unit.before, least_first) : first;
    const float* const end = unit.of_steps + unit.steps;
    const bool is_finite = std::isfinite(unit.before) && std::isfinite(unit.behind) &&
                           std::all_of(unit.of_steps, end, [](float loss) { return std::isfinite(loss); });
    if (!is_finite) return "a loss is not finite; a smaller rate may help";
    if (unit.behind > most_growth * reference) {
      char text[100];
      std::snprintf(text, sizeof text, "the loss grew to %g from %g; a smaller rate may help",
                    static_cast<double>(unit.behind), static_cast<double>(reference));
      return text;
    }
    first = reference;
    all_edges = unit.behind;
    losses.insert(losses.end(), unit.of_steps, end);
    if (losses.size() > most) losses.erase(losses.begin(), losses.end() - static_cast<std::ptrdiff_t>(most));
    return {};
  }
};

// Which graph and how many factors a state is of. Graphs of one size have another digest.
struct Origin {
  Shape shape;
  std::uint64_t digest = 0;
};

// Beside the history, all that save() writes.
struct Saved {
  Origin origin;
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
inline std::string header_of(const Origin& origin, std::uint64_t losses) {
  const Shape& shape = origin.shape;
  std::uint64_t begin = 0;
  std::string text = "{\"__metadata__\":{\"edges\":\"" + std::to_string(shape.edges) + "\",\"graph\":\"" +
                     std::to_string(origin.digest) + "\"}";
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
  put(header_of(saved.origin, history.losses.size()).data(), header_bytes);
  put(&saved.step, sizeof saved.step);
  put(&history.first, sizeof history.first);
  put(&history.all_edges, sizeof history.all_edges);
  put(history.losses.data(), history.losses.size() * sizeof(float));
  put(saved.factors, numbers_of_factors(saved.origin.shape) * sizeof(float));
}

// "" or why these bytes are not taken: then nothing of the rest is changed. They are taken only as write_state() writes
// them for this graph and this number of factors.
inline std::string read_state(const Origin& origin, const void* buffer, std::uint64_t bytes, std::int64_t& step,
                              History& history, float* factors) {
  const Shape& shape = origin.shape;
  const std::uint64_t least = header_bytes + bytes_behind_header(shape, 1);
  const std::uint64_t most = header_bytes + bytes_behind_header(shape, History::most);
  if (bytes < least || bytes > most || (bytes - least) % sizeof(float) != 0)
    return "saved progress of " + std::to_string(bytes) + " bytes is of another graph or of other factors";
  const std::uint64_t count = 1 + (bytes - least) / sizeof(float);
  if (std::memcmp(buffer, header_of(origin, count).data(), header_bytes) != 0)
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
  saved.first = std::max(saved.first, History::least_first);
  history = std::move(saved);
  std::memcpy(factors, at, numbers * sizeof(float));
  return {};
}

}  // namespace factorize
