// See results_file.h.
#include "feeder/files/results_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "feeder/files/array_file.h"

namespace weft {
namespace {

enum class Form { npy, safetensors, raw };

// Lines are written at the end, from tensors.
Form form_of(std::string_view results) {
  if (results.ends_with(".npy")) return Form::npy;
  return results.ends_with(".safetensors") || results.ends_with(".jsonl") ? Form::safetensors : Form::raw;
}

struct Layout {
  std::string begin;
  std::vector<std::uint64_t> offsets, lengths;
  std::uint64_t bytes = 0;
};

Tensor of_all_records(const Tensor& output, std::uint64_t records) {
  std::vector<std::uint64_t> shape{records};
  shape.insert(shape.end(), output.shape.begin(), output.shape.begin() + output.dimensions);
  return make_tensor(output.text(), output.type, shape.data(), static_cast<std::uint32_t>(shape.size()));
}

Layout layout_of(const std::string& results, const std::vector<Tensor>& outputs, std::uint64_t records) {
  Layout made;
  std::vector<Tensor> arrays;
  for (const Tensor& output : outputs) arrays.push_back(of_all_records(output, records));
  const Form form = form_of(results);
  if (form == Form::safetensors) {
    for (const Tensor& output : outputs)
      if (output.variable == 1)
        arrays.push_back(make_tensor(std::string(output.text()) + ".lengths", WEFT_UINT32, &records, 1));
    std::vector<std::uint64_t> offsets;
    made.begin = safetensors_begin(arrays, offsets);
    made.offsets.assign(offsets.begin(), offsets.begin() + static_cast<std::ptrdiff_t>(outputs.size()));
    std::size_t next = outputs.size();
    for (const Tensor& output : outputs) made.lengths.push_back(output.variable == 1 ? offsets[next++] : 0);
  } else {
    if (form == Form::npy) made.begin = npy_begin(arrays.front());
    made.offsets = {made.begin.size()};
    made.lengths = {0};
  }
  made.bytes = made.begin.size();
  for (const Tensor& array : arrays) made.bytes += bytes_of(array);
  return made;
}

nlohmann::json number_of(std::uint32_t type, const std::byte* from) {
  const auto as = [&]<class Number>(Number number) {
    std::memcpy(&number, from, sizeof number);
    return nlohmann::json(number);
  };
  switch (type) {
    case WEFT_UINT8:
      return as(std::uint8_t{});
    case WEFT_INT8:
      return as(std::int8_t{});
    case WEFT_UINT16:
      return as(std::uint16_t{});
    case WEFT_INT16:
      return as(std::int16_t{});
    case WEFT_UINT32:
      return as(std::uint32_t{});
    case WEFT_INT32:
      return as(std::int32_t{});
    case WEFT_UINT64:
      return as(std::uint64_t{});
    case WEFT_INT64:
      return as(std::int64_t{});
    case WEFT_FLOAT32:
      return as(float{});
    default:
      return as(double{});
  }
}

// With `length` steps of the first dimension.
nlohmann::json list_of(const Tensor& tensor, std::uint32_t dimension, std::uint64_t length, const std::byte*& from) {
  if (dimension == tensor.dimensions) {
    nlohmann::json number = number_of(tensor.type, from);
    from += bytes_of_element(tensor.type);
    return number;
  }
  nlohmann::json list = nlohmann::json::array();
  const std::uint64_t count = dimension == 0 ? length : tensor.shape[dimension];
  for (std::uint64_t i = 0; i < count; ++i) list.push_back(list_of(tensor, dimension + 1, length, from));
  return list;
}

}  // namespace

void check_results(const std::string& results, const std::vector<Tensor>& outputs) {
  const Form form = form_of(results);
  if (results.ends_with(".jsonl"))
    for (const Tensor& output : outputs)
      if (output.type == WEFT_FLOAT16 || output.type == WEFT_BFLOAT16)
        throw FileError(results, "the job gives " + std::string(name_of_type(output.type)) +
                                     ", which no text has; name the results .safetensors");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dimensions + 1 > Tensor::most_dimensions)
      throw FileError(results, "the results of the job have too many dimensions");
    for (std::size_t j = 0; j < i; ++j)
      if (outputs[i].text() == outputs[j].text())
        throw FileError(results, "the job has two outputs '" + std::string(outputs[i].text()) + "'");
  }
  if (form == Form::safetensors) return;
  const char* const kind = form == Form::npy ? "a .npy file" : "a file of raw bytes";
  if (outputs.size() != 1 || outputs.front().variable == 1)
    throw FileError(results, "the job has several outputs, or one of variable length, and " + std::string(kind) +
                                 " takes one of fixed size; name the results .safetensors or .jsonl");
  if (form == Form::npy && outputs.front().type == WEFT_BFLOAT16)
    throw FileError(results, "the job gives bfloat16, which .npy does not know; name the results .safetensors");
}

void ResultsFile::create(const std::string& path, const std::string& results, const std::vector<Tensor>& outputs,
                         std::uint64_t records) {
  const Layout layout = layout_of(results, outputs, records);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw FileError(path, std::strerror(errno));
  int error = ::posix_fallocate(file, 0, static_cast<off_t>(layout.bytes));
  const ssize_t written = ::pwrite(file, layout.begin.data(), layout.begin.size(), 0);
  if (error == 0 && written != static_cast<ssize_t>(layout.begin.size())) error = written < 0 ? errno : ENOSPC;
  ::close(file);
  if (error != 0)
    throw FileError(path, "no room for " + std::to_string(layout.bytes) + " bytes of results: " + std::strerror(error));
}

ResultsFile::ResultsFile(std::string path, const std::string& results, const std::vector<Tensor>& outputs,
                         std::uint64_t records)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDWR | O_CLOEXEC)), outputs_(outputs), records_(records) {
  if (file_ < 0) throw FileError(path_, std::strerror(errno));
  const Layout layout = layout_of(results, outputs, records);
  offsets_ = layout.offsets;
  lengths_ = layout.lengths;
}

ResultsFile::~ResultsFile() {
  ::close(file_);
}

void ResultsFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw FileError(path_, std::strerror(written < 0 ? errno : ENOSPC));
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void ResultsFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw FileError(path_, got < 0 ? std::strerror(errno) : "is cut off");
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void ResultsFile::write(std::size_t output, std::uint64_t record, std::span<const std::byte> value) {
  write_at(offsets_[output] + record * bytes_of(outputs_[output]), value);
}

void ResultsFile::write_length(std::size_t output, std::uint64_t record, std::uint32_t length) {
  if (lengths_[output] != 0) write_at(lengths_[output] + record * sizeof length, std::as_bytes(std::span(&length, 1)));
}

void ResultsFile::read(std::size_t output, std::uint64_t record, std::span<std::byte> value) const {
  read_at(offsets_[output] + record * bytes_of(outputs_[output]), value);
}

std::uint32_t ResultsFile::length(std::size_t output, std::uint64_t record) const {
  std::uint32_t length = 0;
  if (lengths_[output] == 0) return static_cast<std::uint32_t>(outputs_[output].shape[0]);
  read_at(lengths_[output] + record * sizeof length, std::as_writable_bytes(std::span(&length, 1)));
  return length;
}

void ResultsFile::sync() {
  if (::fdatasync(file_) != 0) throw FileError(path_, std::strerror(errno));
}

// One output: lists. Several: objects with a list for each.
void ResultsFile::export_lines(const std::string& path) const {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  std::vector<std::byte> value;
  for (std::uint64_t record = 0; record < records_ && out; ++record) {
    nlohmann::ordered_json line;
    for (std::size_t output = 0; output < outputs_.size(); ++output) {
      value.resize(bytes_of(outputs_[output]));
      read(output, record, value);
      const std::byte* from = value.data();
      line[std::string(outputs_[output].text())] = list_of(outputs_[output], 0, length(output, record), from);
    }
    out << (outputs_.size() == 1 ? line.front().dump() : line.dump()) << '\n';
  }
  out.flush();
  if (!out) throw FileError(path, "cannot be written");
}

}  // namespace weft
