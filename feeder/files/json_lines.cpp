// See json_lines.h.
#include "feeder/files/json_lines.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "feeder/files/open_file.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::uint64_t longest_line = 16 << 20;

// A list that is no key's goes by any name.
const json& list_in(const json& line, std::string_view name) {
  if (line.is_object()) {
    const auto found = line.find(name);
    if (found == line.end()) throw std::invalid_argument("has no '" + std::string(name) + "'");
    if (!found->is_array()) throw std::invalid_argument("has no list for '" + std::string(name) + "'");
    return *found;
  }
  if (!line.is_array()) throw std::invalid_argument("is no list of numbers and no object with such lists");
  return line;
}

json parsed(std::string_view line) {
  json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) throw std::invalid_argument("is no JSON");
  return value;
}

template <class Number>
void write(const json& list, std::span<std::byte> to) {
  std::size_t at = 0;
  for (const json& element : list) {
    Number number{};
    if constexpr (std::floating_point<Number>) {
      if (!element.is_number()) throw std::invalid_argument("has something that is no number");
      number = element.get<Number>();
      if (!std::isfinite(number)) throw std::invalid_argument("has a number that its type does not take");
    } else {
      if (!element.is_number_integer()) throw std::invalid_argument("has something that is no whole number");
      const bool fits = element.is_number_unsigned() ? std::in_range<Number>(element.get<std::uint64_t>())
                                                     : std::in_range<Number>(element.get<std::int64_t>());
      if (!fits) throw std::invalid_argument("has the number " + element.dump() + ", which its type does not take");
      number = element.get<Number>();
    }
    std::memcpy(to.data() + at, &number, sizeof number);
    at += sizeof number;
  }
}

void write_as(std::uint32_t type, const json& list, std::span<std::byte> to) {
  switch (type) {
    case WEFT_INT32:
      return write<std::int32_t>(list, to);
    case WEFT_UINT32:
      return write<std::uint32_t>(list, to);
    case WEFT_INT64:
      return write<std::int64_t>(list, to);
    case WEFT_UINT64:
      return write<std::uint64_t>(list, to);
    case WEFT_UINT16:
      return write<std::uint16_t>(list, to);
    case WEFT_UINT8:
      return write<std::uint8_t>(list, to);
    case WEFT_FLOAT32:
      return write<float>(list, to);
    case WEFT_FLOAT64:
      return write<double>(list, to);
    default:
      throw std::invalid_argument("cannot give numbers of type " + std::string(name_of_type(type)));
  }
}

class JsonLines final : public InputFile {
 public:
  explicit JsonLines(const std::string& path) : file_(path) { find_lines(); }

  // Whole numbers, as tokens are.
  std::optional<Tensor> describe(std::string_view name) const override {
    const json first = parsed(line(0));
    if (first.is_object() && !first.contains(name)) return std::nullopt;
    const std::uint64_t longest = std::max<std::uint64_t>(longest_, 1);
    Tensor tensor = make_tensor(name, WEFT_INT32, &longest, 1);
    tensor.variable = 1;
    return tensor;
  }

  void check(const Tensor& wanted) const override {
    if (wanted.dimensions != 1)
      throw FileError(file_.path(), "has lists of numbers for '" + std::string(wanted.text()) +
                                        "', and the job takes " + described(wanted));
  }

  std::uint64_t bind(const std::vector<Tensor>& wanted, std::uint64_t looks) override {
    if (wanted.empty()) throw FileError(file_.path(), "is named as input, and the job takes none");
    wanted_ = wanted;
    std::vector<std::byte> room;
    for (std::uint64_t record = 0; record < std::min(begins_.size() - 1, looks); ++record)
      for (std::size_t input = 0; input < wanted.size(); ++input) {
        room.resize(bytes_of(wanted[input]));
        read(input, record, room);
      }
    return begins_.size() - 1;
  }

  std::uint32_t read(std::size_t input, std::uint64_t record, std::span<std::byte> to) const override {
    try {
      return parse_line(line(record), wanted_[input], to);
    } catch (const std::invalid_argument& error) {
      throw FileError(file_.path(), "line " + std::to_string(record + 1) + " " + error.what());
    }
  }

 private:
  // A line more than ends: nothing stands behind the last end.
  void find_lines() {
    constexpr std::uint64_t at_once = 1 << 20;
    std::uint64_t commas = 0;
    for (std::uint64_t first = 0; first < file_.bytes(); first += at_once) {
      const std::string text = file_.text(first, std::min(at_once, file_.bytes() - first));
      for (std::size_t i = 0; i < text.size(); ++i) {
        commas += text[i] == ',' ? 1 : 0;
        if (first + i - begins_.back() > longest_line)
          throw FileError(file_.path(), "line " + std::to_string(begins_.size()) + " has more than " +
                                            std::to_string(longest_line >> 20) + " MiB");
        if (text[i] != '\n') continue;
        longest_ = std::max(longest_, std::exchange(commas, 0) + 1);
        begins_.push_back(first + i + 1);
      }
    }
    longest_ = std::max(longest_, commas + 1);
    if (begins_.back() != file_.bytes()) begins_.push_back(file_.bytes() + 1);  // the last line has no end
    if (begins_.size() < 2) throw FileError(file_.path(), "has no line");
  }

  std::string line(std::uint64_t record) const {
    return file_.text(begins_[record], begins_[record + 1] - begins_[record] - 1);
  }

  const OpenFile file_;
  std::vector<std::uint64_t> begins_{0};  // of each line, and where the next one would begin
  std::uint64_t longest_ = 0;             // numbers of a line, or more
  std::vector<Tensor> wanted_;
};

}  // namespace

std::uint32_t parse_line(std::string_view line, const Tensor& wanted, std::span<std::byte> to) {
  const json value = parsed(line);
  const json& list = list_in(value, wanted.text());
  const std::size_t most = wanted.shape[0], count = list.size();
  if (count > most || (wanted.variable == 0 && count != most))
    throw std::invalid_argument("has " + std::to_string(count) + " numbers for '" + std::string(wanted.text()) +
                                "', and the job takes " + (wanted.variable == 1 ? "up to " : "") +
                                std::to_string(most));
  write_as(wanted.type, list, to);
  const std::size_t written = count * bytes_of_element(wanted.type);
  std::memset(to.data() + written, 0, to.size() - written);
  return static_cast<std::uint32_t>(count);
}

std::unique_ptr<InputFile> open_json_lines(const std::string& path) {
  return std::make_unique<JsonLines>(path);
}

}  // namespace weft
