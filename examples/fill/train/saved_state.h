// The state of a training as bytes, between two runs: a safetensors file with the parameters, their momenta, the number
// of steps and the losses. Bytes that come back may be anything: they are taken only where their header is the one that
// this training would write, byte for byte.
//
// Used by train.cpp in save() and restore(), and by its tests. Pure; nothing here knows of the GPU or of files.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace train {

// The latest losses, one of each step, in memory that is taken once.
class History {
 public:
  static constexpr std::size_t most = std::size_t{1} << 20U;

  explicit History(std::size_t room = most) : losses_(room) {}
  void add(float loss) { losses_[steps_++ % losses_.size()] = loss; }
  std::uint64_t steps() const { return steps_; }
  std::size_t size() const { return static_cast<std::size_t>(std::min<std::uint64_t>(steps_, losses_.size())); }
  std::size_t room() const { return losses_.size(); }
  // The oldest first.
  void copy_to(float* to) const {
    for (std::uint64_t step = steps_ - size(); step < steps_; ++step) *to++ = losses_[step % losses_.size()];
  }
  void set(std::uint64_t steps, const float* latest) {
    steps_ = steps - std::min<std::uint64_t>(steps, losses_.size());
    while (steps_ < steps) add(*latest++);
  }

 private:
  std::vector<float> losses_;
  std::uint64_t steps_ = 0;
};

struct SavedTensor {
  std::string name;
  std::vector<int> shape;

  std::uint64_t bytes() const {
    std::uint64_t count = sizeof(float);
    for (const int size : shape) count *= static_cast<std::uint64_t>(size);
    return count;
  }
};

// Which training it is: `identity` is of printable characters that JSON has as they are; the parameters, in order.
struct SavedLayout {
  std::string identity;
  std::vector<SavedTensor> parameters;

  std::uint64_t parameter_bytes() const {
    std::uint64_t bytes = 0;
    for (const SavedTensor& tensor : parameters) bytes += tensor.bytes();
    return bytes;
  }
};

namespace saved {

constexpr std::string_view before_identity = "{\"__metadata__\":{\"training\":\"";

inline std::string header(const SavedLayout& layout, std::size_t losses) {
  std::string text = std::string(before_identity) + layout.identity + "\"}";
  std::uint64_t offset = 0;
  const auto add = [&](const std::string& name, const char* type, const std::string& shape, std::uint64_t bytes) {
    text += ",\"" + name + R"(":{"dtype":")" + type + R"(","shape":[)" + shape + "],\"data_offsets\":[" +
            std::to_string(offset) + "," + std::to_string(offset + bytes) + "]}";
    offset += bytes;
  };
  add("steps", "I64", "", sizeof(std::uint64_t));
  for (const char* const prefix : {"", "momentum."})
    for (const SavedTensor& tensor : layout.parameters) {
      std::string shape;
      for (const int size : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
      add(prefix + tensor.name, "F32", shape, tensor.bytes());
    }
  add("losses", "F32", std::to_string(losses), losses * sizeof(float));
  return text + "}";
}

// All headers of a training are of one length, that of the longest, so that one knows from the size of a file how many
// losses it has.
inline std::string padded_header(const SavedLayout& layout, std::size_t losses) {
  const std::size_t longest = (header(layout, History::most).size() + 7) / 8 * 8;
  std::string text = header(layout, losses);
  text.resize(longest, ' ');
  return text;
}

inline std::uint64_t size(const SavedLayout& layout, std::size_t losses) {
  return sizeof(std::uint64_t) + padded_header(layout, 0).size() + sizeof(std::uint64_t) +
         2 * layout.parameter_bytes() + losses * sizeof(float);
}

// `state`: the parameters and behind them the momenta. `to` has size() bytes.
inline void write(const SavedLayout& layout, const float* state, const History& history, char* to) {
  const std::string text = padded_header(layout, history.size());
  const std::uint64_t length = text.size(), steps = history.steps();
  const auto put = [&to](const void* from, std::uint64_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    to += bytes;
  };
  put(&length, sizeof length);
  put(text.data(), length);
  put(&steps, sizeof steps);
  put(state, 2 * layout.parameter_bytes());
  std::vector<float> losses(history.size());
  history.copy_to(losses.data());
  put(losses.data(), losses.size() * sizeof(float));
}

// Of which training these bytes are, for a message; "": of none.
inline std::string identity_in(std::string_view bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) return {};
  bytes.remove_prefix(sizeof(std::uint64_t));
  if (!bytes.starts_with(before_identity)) return {};
  bytes.remove_prefix(before_identity.size());
  constexpr std::size_t longest = 200;
  std::string text(bytes.substr(0, std::min(bytes.find('"'), longest)));
  for (char& character : text)
    if (character < ' ' || character > '~') character = '?';
  return text;
}

// Takes what write() has written. Returns "" or why it does not; then nothing has changed. `state` has room for the
// parameters and the momenta.
inline std::string read(const SavedLayout& layout, std::string_view bytes, float* state, History& history) {
  const std::uint64_t least = size(layout, 0), of_state = 2 * layout.parameter_bytes();
  const std::string other = identity_in(bytes);
  if (!other.empty() && other != layout.identity) return "the saved progress is of another training: " + other;
  const std::uint64_t losses = bytes.size() < least ? 0 : (bytes.size() - least) / sizeof(float);
  const std::string text = padded_header(layout, std::min<std::size_t>(losses, History::most));
  std::uint64_t length = 0, steps = 0;
  if (bytes.size() >= sizeof length) std::memcpy(&length, bytes.data(), sizeof length);
  if (bytes.size() != least + losses * sizeof(float) || length != text.size() ||
      bytes.substr(sizeof length, length) != text)
    return "the saved progress is not that of such a training";
  const char* const body = bytes.data() + sizeof length + length;
  std::memcpy(&steps, body, sizeof steps);
  if (steps >> 62U != 0 || losses != std::min<std::uint64_t>(steps, history.room()))
    return "the saved progress has " + std::to_string(losses) + " losses of " + std::to_string(steps) + " steps";
  std::vector<float> numbers((of_state + losses * sizeof(float)) / sizeof(float));
  std::memcpy(numbers.data(), body + sizeof steps, numbers.size() * sizeof(float));
  if (!std::all_of(numbers.begin(), numbers.end(), [](float number) { return std::isfinite(number); }))
    return "the saved progress has numbers that are not finite";
  std::memcpy(state, numbers.data(), of_state);
  history.set(steps, numbers.data() + of_state / sizeof(float));
  return {};
}

}  // namespace saved
}  // namespace train
