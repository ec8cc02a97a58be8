// See shard_file.h.
#include "feeder/shard_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "feeder/files/open_file.h"
#include "feeder/files/written_file.h"

namespace weft {

ShardFile::ShardFile(std::string path, const std::vector<Tensor>& outputs, std::uint64_t records)
    : path_(std::move(path)), records_(records), bytes_((records + 7) / 8 * 8) {
  for (const Tensor& output : outputs) {
    Place& place = places_.emplace_back();
    place.value_bytes = bytes_of(output);
    place.lengths = output.variable == 1 ? bytes_ : 0;
    bytes_ += output.variable == 1 ? (records * sizeof(std::uint32_t) + 7) / 8 * 8 : 0;
    place.values = bytes_;
    bytes_ += (records * place.value_bytes + 7) / 8 * 8;
  }
  file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0) throw FileError(path_, std::strerror(errno));
  struct stat status {};
  int error = ::fstat(file_, &status) == 0 ? 0 : errno;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  // One that is too short was being made: nothing is marked in it yet. A disk without room gets back what it gave.
  if (error == 0 && size < bytes_) {
    if (::ftruncate(file_, 0) != 0) error = errno;
    if (error == 0) error = ::posix_fallocate(file_, 0, static_cast<off_t>(bytes_));
    if (error != 0 && ::ftruncate(file_, 0) != 0) error = errno;
  }
  const bool is_damaged = error == 0 && size > bytes_;
  if (error == 0 && !is_damaged) return;
  ::close(file_);
  throw FileError(path_, is_damaged ? "is damaged: it has another size" : std::strerror(error));
}

ShardFile::~ShardFile() {
  ::close(file_);
}

namespace {

void copy_content(const OpenFile& from, const std::string& to) {
  WrittenFile made(to);
  std::vector<std::byte> bytes(1 << 20);
  for (std::uint64_t offset = 0; offset < from.bytes(); offset += bytes.size()) {
    bytes.resize(std::min<std::uint64_t>(bytes.size(), from.bytes() - offset));
    from.read(offset, bytes);
    made.write(offset, bytes);
  }
  made.sync();
}

}  // namespace

void ShardFile::copy(const std::string& from, const std::string& to) {
  copy_content(OpenFile(from), to);
}

bool ShardFile::renew_content(const std::string& path) {
  const std::string fresh = path + ".new";
  {
    const OpenFile old(path);
    if (old.bytes() == 0) return true;
    copy_content(old, fresh);
    struct stat status {};
    const bool is_lost = ::stat(path.c_str(), &status) != 0 || !old.is(status);
    if (is_lost) ::unlink(fresh.c_str());
    if (is_lost) return false;
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) throw FileError(path, std::strerror(errno));
  return true;
}

std::vector<char> ShardFile::marks() const {
  std::vector<char> marks(records_);
  read_at(file_, path_, 0, std::as_writable_bytes(std::span(marks)));
  return marks;
}

void ShardFile::mark(std::uint64_t record) {
  constexpr char done = 1;
  write_at(file_, path_, record, std::as_bytes(std::span(&done, 1)));
}

void ShardFile::write(std::size_t output, std::uint64_t record, std::span<const std::byte> value) {
  if (value.size() != places_[output].value_bytes) throw FileError(path_, "has room for results of another size");
  write_at(file_, path_, places_[output].values + record * places_[output].value_bytes, value);
}

void ShardFile::write_length(std::size_t output, std::uint64_t record, std::uint32_t length) {
  if (places_[output].lengths != 0)
    write_at(file_, path_, places_[output].lengths + record * sizeof length, std::as_bytes(std::span(&length, 1)));
}

std::vector<std::byte> ShardFile::values(std::size_t output) const {
  std::vector<std::byte> values(records_ * places_[output].value_bytes);
  read_at(file_, path_, places_[output].values, values);
  return values;
}

std::vector<std::uint32_t> ShardFile::lengths(std::size_t output) const {
  std::vector<std::uint32_t> lengths(places_[output].lengths == 0 ? 0 : records_);
  read_at(file_, path_, places_[output].lengths, std::as_writable_bytes(std::span(lengths)));
  return lengths;
}

void ShardFile::sync() {
  if (::fdatasync(file_) != 0) throw FileError(path_, std::strerror(errno));
}

}  // namespace weft
