// Arithmetic of the reductions, one instance per element type.
// Called on the engine's thread. Must not allocate, block or call the driver.
#include "element.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace simgpu::nccl {
namespace {

constexpr size_t sizes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
constexpr const char* names[ncclNumTypes] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                             "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};

// A codec turns stored elements into the type that is computed with, and back.
template <class T>
struct Plain {
  using Stored = T;
  // Sums of signed integers wrap around, as on the device; unsigned arithmetic is how C++ says so.
  using Value = T;
  static Value load(Stored stored) { return stored; }
  static Stored store(Value value) { return value; }
};

struct Half {
  using Stored = __half_raw;
  using Value = float;
  static Value load(Stored stored) { return __half2float(__half(stored)); }
  static Stored store(Value value) { return static_cast<__half_raw>(__float2half_rn(value)); }
};

struct Bfloat16 {
  using Stored = __nv_bfloat16_raw;
  using Value = float;
  static Value load(Stored stored) { return __bfloat162float(__nv_bfloat16(stored)); }
  static Stored store(Value value) { return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)); }
};

template <__nv_fp8_interpretation_t interpretation>
struct Float8 {
  using Stored = __nv_fp8_storage_t;
  using Value = float;
  static Value load(Stored stored) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(stored, interpretation))); }
  static Stored store(Value value) { return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, interpretation); }
};

template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}

template <class T>
T wrapping_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class T>
T combine(T a, T b, Reduction reduction) {
  switch (reduction) {
    case Reduction::product:
      return wrapping_multiply(a, b);
    case Reduction::max:
      if constexpr (std::is_integral_v<T>) return a > b ? a : b;
      return static_cast<T>(std::fmax(a, b));
    case Reduction::min:
      if constexpr (std::is_integral_v<T>) return a < b ? a : b;
      return static_cast<T>(std::fmin(a, b));
    case Reduction::sum:
    case Reduction::average:
    case Reduction::scaled_sum:
      break;
  }
  return wrapping_add(a, b);
}

template <class T>
T divide(T value, int count) {
  // Narrow integers hold fewer ranks than there may be: the division is done in a type that holds both.
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    return static_cast<T>(static_cast<int64_t>(value) / count);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(value) / static_cast<uint64_t>(count));
  } else {
    return value / static_cast<T>(count);
  }
}

template <class Stored>
Stored load_at(const void* base, size_t index) {
  Stored stored;
  std::memcpy(&stored, static_cast<const char*>(base) + index * sizeof(Stored), sizeof(Stored));
  return stored;
}

template <class Stored>
void store_at(void* base, size_t index, Stored stored) {
  std::memcpy(static_cast<char*>(base) + index * sizeof(Stored), &stored, sizeof(Stored));
}

template <class Codec>
void reduce_as(void* out, const void* const* inputs, int input_count, size_t elements, Reduction reduction) {
  using Stored = typename Codec::Stored;
  for (size_t i = 0; i < elements; ++i) {
    auto value = Codec::load(load_at<Stored>(inputs[0], i));
    for (int input = 1; input < input_count; ++input) {
      value = combine(value, Codec::load(load_at<Stored>(inputs[input], i)), reduction);
    }
    if (reduction == Reduction::average) value = divide(value, input_count);
    store_at(out, i, Codec::store(value));
  }
}

template <class Codec>
void scale_as(void* out, const void* in, size_t elements, const void* scalar) {
  using Stored = typename Codec::Stored;
  const auto factor = Codec::load(load_at<Stored>(scalar, 0));
  for (size_t i = 0; i < elements; ++i) {
    store_at(out, i, Codec::store(wrapping_multiply(Codec::load(load_at<Stored>(in, i)), factor)));
  }
}

// Calls visitor with the codec of the type.
template <class Visitor>
void with_codec(ncclDataType_t type, Visitor visitor) {
  switch (type) {
    case ncclInt8:
      return visitor(Plain<int8_t>{});
    case ncclUint8:
      return visitor(Plain<uint8_t>{});
    case ncclInt32:
      return visitor(Plain<int32_t>{});
    case ncclUint32:
      return visitor(Plain<uint32_t>{});
    case ncclInt64:
      return visitor(Plain<int64_t>{});
    case ncclUint64:
      return visitor(Plain<uint64_t>{});
    case ncclFloat16:
      return visitor(Half{});
    case ncclFloat32:
      return visitor(Plain<float>{});
    case ncclFloat64:
      return visitor(Plain<double>{});
    case ncclBfloat16:
      return visitor(Bfloat16{});
    case ncclFloat8e4m3:
      return visitor(Float8<__NV_E4M3>{});
    case ncclFloat8e5m2:
      return visitor(Float8<__NV_E5M2>{});
    case ncclNumTypes:
      break;
  }
}

}  // namespace

bool valid_type(ncclDataType_t type) {
  return static_cast<int>(type) >= 0 && type < ncclNumTypes;
}

size_t size_of(ncclDataType_t type) {
  return sizes[type];
}

const char* name_of(ncclDataType_t type) {
  return names[type];
}

const char* name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return "Sum";
    case Reduction::product:
      return "Prod";
    case Reduction::max:
    case Reduction::min:
      return "MinMax";
    case Reduction::average:
      return "SumPostDiv";
    case Reduction::scaled_sum:
      return "PreMulSum";
  }
  return "Sum";
}

void reduce(void* out, const void* const* inputs, int input_count, size_t elements, ncclDataType_t type,
            Reduction reduction) {
  with_codec(type, [&](auto codec) { reduce_as<decltype(codec)>(out, inputs, input_count, elements, reduction); });
}

void scale(void* out, const void* in, size_t elements, ncclDataType_t type, const void* scalar) {
  with_codec(type, [&](auto codec) { scale_as<decltype(codec)>(out, in, elements, scalar); });
}

}  // namespace simgpu::nccl
