// Common to the example fill jobs with files: taking weights, records and memory from Weft in init(), one after the
// other.
//
// The first thing that is wrong ends it: whatever is taken after that is null, and wrong() says why. Called by Weft on
// one thread at a time; nothing here touches the GPU.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/fill.h"

namespace fill {

template <class T>
constexpr std::uint32_t type_of() {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, float>) return WEFT_FLOAT32;
  if constexpr (std::is_same_v<Plain, std::int32_t>) return WEFT_INT32;
  if constexpr (std::is_same_v<Plain, std::int64_t>) return WEFT_INT64;
  if constexpr (std::is_same_v<Plain, std::uint8_t>) return WEFT_UINT8;
  return 0;
}

class Taking {
 public:
  // `weights_may_leave`: while the training is short of memory, see between_bubbles_on_host of weft/fill.h.
  explicit Taking(const weft_fill_host& host, bool weights_may_leave = false)
      : host_(host), weights_may_leave_(weights_may_leave) {}

  const std::string& wrong() const { return wrong_; }
  bool failed() const { return !wrong_.empty(); }
  void fail(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
  }

  bool has_weights(const std::string& name) const {
    weft_fill_tensor found{};
    return !failed() && host_.describe_parameter(host_.context, name.c_str(), &found) != 0;
  }
  // The tensor of the weights, of any shape of so many dimensions, each at most `most`. All zero on failure.
  template <class T>
  weft_fill_tensor weights_like(const std::string& name, std::uint32_t dimensions, std::uint64_t most = 1U << 30U) {
    weft_fill_tensor found{};
    if (failed()) return {};
    if (host_.describe_parameter(host_.context, name.c_str(), &found) == 0)
      fail("the weights have no tensor '" + name + "'");
    else if (found.dimensions != dimensions || found.type != type_of<T>())
      fail("the weights' tensor '" + name + "' is not of " + std::to_string(dimensions) + " dimensions of " +
           text_of_type<T>());
    for (std::uint32_t i = 0; i < found.dimensions && i < WEFT_FILL_MOST_DIMENSIONS; ++i)
      if (found.shape[i] > most)
        fail("the weights' tensor '" + name + "' has a dimension of " + std::to_string(found.shape[i]));
    return failed() ? weft_fill_tensor{} : found;
  }
  template <class T>
  const T* weights(const std::string& name, std::initializer_list<int> shape) {
    if (failed()) return nullptr;
    weft_fill_tensor wanted = tensor<T>(name.c_str(), shape, false);
    wanted.between_bubbles_on_host = weights_may_leave_ ? 1 : 0;
    return taken<const T>(host_.parameter(host_.context, &wanted));
  }

  // One record of an input.
  weft_fill_tensor input_like(const char* name, std::uint32_t dimensions) {
    weft_fill_tensor found{};
    if (failed()) return {};
    if (host_.describe_input(host_.context, name, &found) == 0)
      fail("the records have no '" + std::string(name) + "'");
    else if (found.dimensions != dimensions)
      fail("the records' '" + std::string(name) + "' have " + std::to_string(found.dimensions) +
           " dimensions and not " + std::to_string(dimensions));
    return failed() ? weft_fill_tensor{} : found;
  }
  // Before inputs and outputs.
  void records(int per_unit) {
    if (!failed() && host_.records(host_.context, static_cast<std::uint32_t>(per_unit), nullptr) != 0) stop();
  }
  template <class T>
  const T* input(const char* name, std::initializer_list<int> shape, const std::uint32_t** lengths = nullptr) {
    return exchanged<const T>(host_.input, name, shape, lengths);
  }
  template <class T>
  T* output(const char* name, std::initializer_list<int> shape, std::uint32_t** lengths = nullptr) {
    return exchanged<T>(host_.output, name, shape, lengths);
  }

  template <class T>
  T* device(double count) {
    if (count < 1) fail("it has no numbers to work on");
    return failed() ? nullptr : taken<T>(host_.allocate(host_.context, bytes_of<T>(count)));
  }
  template <class T>
  T* pinned(double count) {
    if (failed()) return nullptr;
    void* const memory = host_.allocate_host(host_.context, bytes_of<T>(count));
    if (memory == nullptr) fail("no pinned host memory");
    return static_cast<T*>(memory);
  }

 private:
  template <class T>
  static std::string text_of_type() {
    if constexpr (std::is_floating_point_v<T>) return "float32";
    return (std::is_unsigned_v<T> ? "uint" : "int") + std::to_string(8 * sizeof(T));
  }
  template <class T>
  static std::uint64_t bytes_of(double count) {
    return static_cast<std::uint64_t>(count) * sizeof(T);
  }
  template <class T>
  static weft_fill_tensor tensor(const char* name, std::initializer_list<int> shape, bool variable) {
    weft_fill_tensor made{name, type_of<T>(), 0, {}, variable ? 1U : 0U, 0};
    for (const int size : shape) made.shape[made.dimensions++] = static_cast<std::uint64_t>(size);
    return made;
  }
  template <class T>
  T* taken(std::uint64_t address) {
    if (address == 0) stop();
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
  }
  template <class T, class Declare, class Lengths>
  T* exchanged(Declare declare, const char* name, std::initializer_list<int> shape, Lengths** lengths) {
    if (failed()) return nullptr;
    const weft_fill_tensor made = tensor<T>(name, shape, lengths != nullptr);
    std::uint64_t of_lengths = 0;
    T* const address = taken<T>(declare(host_.context, &made, &of_lengths));
    if (lengths != nullptr) *lengths = reinterpret_cast<Lengths*>(static_cast<std::uintptr_t>(of_lengths));
    return address;
  }
  // Weft knows better why a tensor could not be taken, and says that instead.
  void stop() { fail("it does not fit into the memory cap of " + std::to_string(host_.memory_cap) + " bytes"); }

  const weft_fill_host& host_;
  const bool weights_may_leave_;
  std::string wrong_;
};

}  // namespace fill
