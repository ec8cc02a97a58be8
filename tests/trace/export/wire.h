// A decoder of protobuf's wire format for the tests of the Perfetto export: it knows the format and none of Weft's
// code.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {

struct WireField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // of a number; of a double its bits
  std::string bytes;        // of a text or a message
};

class WireMessage {
 public:
  WireMessage() = default;
  explicit WireMessage(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) fields_.push_back(field(bytes, at));
  }

  std::vector<WireField> all(std::uint32_t number) const {
    std::vector<WireField> found;
    for (const WireField& field : fields_)
      if (field.number == number) found.push_back(field);
    return found;
  }
  bool has(std::uint32_t number) const { return !all(number).empty(); }
  std::uint64_t number(std::uint32_t number) const { return has(number) ? all(number).front().value : 0; }
  std::string text(std::uint32_t number) const { return has(number) ? all(number).front().bytes : ""; }
  WireMessage message(std::uint32_t number) const { return WireMessage(text(number)); }
  double real(std::uint32_t number) const {
    const std::uint64_t bits = this->number(number);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  static std::uint64_t varint(const std::string& bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("a number without an end");
  }
  static std::string part(const std::string& bytes, std::size_t& at, std::size_t size) {
    if (size > bytes.size() - at) throw std::runtime_error("longer than the message");
    at += size;
    return bytes.substr(at - size, size);
  }
  static WireField field(const std::string& bytes, std::size_t& at) {
    const std::uint64_t key = varint(bytes, at);
    WireField field{static_cast<std::uint32_t>(key >> 3), 0, ""};
    switch (key & 7) {
      case 0:
        field.value = varint(bytes, at);
        break;
      case 1:
        std::memcpy(&field.value, part(bytes, at, 8).data(), 8);
        break;
      case 2: {
        const std::size_t size = varint(bytes, at);
        field.bytes = part(bytes, at, size);
        break;
      }
      default:
        throw std::runtime_error("a kind of field that Perfetto does not have");
    }
    return field;
  }

  std::vector<WireField> fields_;
};

}  // namespace weft::test
