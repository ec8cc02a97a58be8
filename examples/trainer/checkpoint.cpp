// See checkpoint.h.
#include "checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace trainer {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::runtime_error(path + " cannot be written: " + std::strerror(errno));
}

class Out {
 public:
  explicit Out(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail(path_);
  }
  ~Out() { ::close(file_); }
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;

  void write(const void* data, std::size_t bytes, std::uint64_t offset) const {
    const char* at = static_cast<const char*>(data);
    while (bytes != 0) {
      const ssize_t written = ::pwrite(file_, at, bytes, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail(path_);
      at += written, bytes -= static_cast<std::size_t>(written), offset += static_cast<std::uint64_t>(written);
    }
  }
  // Its size: a part that a killed training has left may be larger.
  void resize(std::uint64_t bytes) const {
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail(path_);
  }
  void sync() const {
    if (::fsync(file_) != 0) fail(path_);
  }

 private:
  const std::string path_;
  const int file_;
};

std::uint64_t bytes_of(const NamedTensor& tensor) {
  std::uint64_t bytes = sizeof(float);
  for (const int size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

// Of a rank, that its weights are in the file.
std::string mark_of(const std::string& path, int rank) {
  return path + "." + std::to_string(rank);
}

std::string in_hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    text += digits;
  }
  return text;
}

}  // namespace

std::vector<NamedTensor> tensors_of_gpt2(int vocabulary, int positions, int hidden, int layers) {
  std::vector<NamedTensor> all{{"wte.weight", {vocabulary, hidden}}, {"wpe.weight", {positions, hidden}}};
  const auto add = [&](const std::string& name, std::vector<int> shape) {
    all.push_back({name + ".weight", shape});
    all.push_back({name + ".bias", {shape.back()}});
  };
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = "h." + std::to_string(layer) + ".";
    add(name + "ln_1", {hidden});
    add(name + "attn.c_attn", {hidden, 3 * hidden});
    add(name + "attn.c_proj", {hidden, hidden});
    add(name + "ln_2", {hidden});
    add(name + "mlp.c_fc", {hidden, 4 * hidden});
    add(name + "mlp.c_proj", {4 * hidden, hidden});
  }
  add("ln_f", {hidden});
  all.push_back({"lm_head.weight", {vocabulary, hidden}});
  return all;
}

void check_writable(const std::string& path, int rank) {
  const Out out(mark_of(path, rank));
  ::unlink(mark_of(path, rank).c_str());
}

void write_part(const std::string& path, int rank, const std::vector<NamedTensor>& all,
                const std::vector<NamedTensor>& own, int heads, const std::string& characters) {
  nlohmann::ordered_json header{
      {"__metadata__", {{"heads", std::to_string(heads)}, {"characters", in_hex(characters)}}}};
  std::map<std::string, std::uint64_t> offsets;
  std::uint64_t end = 0;
  for (const NamedTensor& tensor : all) {
    offsets[tensor.name] = end;
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {end, end + bytes_of(tensor)}}};
    end += bytes_of(tensor);
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const auto size = static_cast<std::uint64_t>(text.size());
  const Out out(path);
  out.resize(sizeof size + size + end);
  out.write(&size, sizeof size, 0);
  out.write(text.data(), text.size(), sizeof size);
  for (const NamedTensor& tensor : own) {
    if (tensor.values.size() * sizeof(float) != bytes_of(tensor))
      throw std::logic_error("the shape of " + tensor.name + " is not that of its values");
    out.write(tensor.values.data(), bytes_of(tensor), sizeof size + size + offsets.at(tensor.name));
  }
  out.sync();
  const Out mark(mark_of(path, rank));
}

void publish(const std::string& part, const std::string& path, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    if (::unlink(mark_of(part, rank).c_str()) != 0)
      throw std::runtime_error(part + " has no weights of rank " + std::to_string(rank) +
                               ": all ranks have to see one folder");
  if (std::rename(part.c_str(), path.c_str()) != 0) fail(path);
}

}  // namespace trainer
