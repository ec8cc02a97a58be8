// See results_file.h.
#include "feeder/files/results_file.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "feeder/files/array_file.h"
#include "feeder/files/results_folder.h"

namespace weft {
namespace {

enum class Form { npy, safetensors, lines, folder, raw };

Form form_of(const std::string& results) {
  if (is_results_folder(results)) return Form::folder;
  if (results.ends_with(".npy")) return Form::npy;
  if (results.ends_with(".jsonl")) return Form::lines;
  return results.ends_with(".safetensors") ? Form::safetensors : Form::raw;
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
  if (form == Form::lines) return made;
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
  if (form == Form::folder) return check_results_folder(results, outputs);
  if (form == Form::lines)
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
  if (form == Form::safetensors || form == Form::lines) return;
  const char* const kind = form == Form::npy ? "a .npy file" : "a file of raw bytes";
  if (outputs.size() != 1 || outputs.front().variable == 1)
    throw FileError(results, "the job has several outputs, or one of variable length, and " + std::string(kind) +
                                 " takes one of fixed size; name the results .safetensors or .jsonl");
  if (form == Form::npy && outputs.front().type == WEFT_BFLOAT16)
    throw FileError(results, "the job gives bfloat16, which .npy does not know; name the results .safetensors");
}

std::string lines_of(const std::vector<Tensor>& outputs, const std::vector<ResultsPart>& parts, std::uint64_t records) {
  std::string text;
  for (std::uint64_t record = 0; record < records; ++record) {
    nlohmann::ordered_json line;
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      const Tensor& tensor = outputs[output];
      const std::byte* from = parts[output].values.data() + record * bytes_of(tensor);
      const std::uint64_t length = tensor.variable == 1 ? parts[output].lengths[record] : tensor.shape[0];
      line[std::string(tensor.text())] = list_of(tensor, 0, length, from);
    }
    text += (outputs.size() == 1 ? line.front().dump() : line.dump()) + '\n';
  }
  return text;
}

ResultsFile::ResultsFile(const std::string& path, const std::string& results, const std::vector<Tensor>& outputs,
                         std::uint64_t records, const std::vector<std::string>& inputs)
    : outputs_(outputs), are_lines_(form_of(results) == Form::lines) {
  if (form_of(results) == Form::folder) {
    folder_ = std::make_unique<ResultsFolder>(path, outputs.front(), picture_names(inputs, records));
    return;
  }
  const Layout layout = layout_of(results, outputs, records);
  offsets_ = layout.offsets;
  lengths_ = layout.lengths;
  file_ = std::make_unique<WrittenFile>(path, layout.bytes);
  file_->write(0, std::as_bytes(std::span(layout.begin)));
}

ResultsFile::~ResultsFile() = default;

void ResultsFile::append(const std::vector<ResultsPart>& outputs) {
  if (folder_ != nullptr) return folder_->append(outputs.front());
  const std::uint64_t records = outputs.front().values.size() / bytes_of(outputs_.front());
  if (are_lines_) return append_lines(outputs, records);
  for (std::size_t output = 0; output < outputs_.size(); ++output) {
    file_->write(offsets_[output] + written_ * bytes_of(outputs_[output]), outputs[output].values);
    if (lengths_[output] != 0)
      file_->write(lengths_[output] + written_ * sizeof(std::uint32_t),
                   std::as_bytes(std::span(outputs[output].lengths)));
  }
  written_ += records;
}

void ResultsFile::append_lines(const std::vector<ResultsPart>& outputs, std::uint64_t records) {
  const std::string text = lines_of(outputs_, outputs, records);
  file_->write(written_, std::as_bytes(std::span(text)));
  written_ += text.size();
}

void ResultsFile::sync() {
  folder_ != nullptr ? folder_->sync() : file_->sync();
}

}  // namespace weft
