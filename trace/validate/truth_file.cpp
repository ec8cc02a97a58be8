// See the header.
#include "trace/validate/truth_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "trace/read/line_reader.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::int64_t newest_version = 1;
constexpr std::int64_t longest_busy = std::int64_t{1} << 40;  // of a row, ns: 18 minutes

struct Row {
  char work = 0;  // 'k', 'n' or 'c'; see runner/validate/truth_lines.h
  std::int64_t device = 0, context = 0, stream = 0, begin = 0, end = 0, busy = 0, records = 0;
};

std::int64_t integer(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::uint64_t count(const json& line, const char* key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(integer(line, key), 0));
}

std::string text(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<Row> row_of(const json& values) {
  if (!values.is_array() || values.size() != 8 || !values[0].is_string() ||
      values[0].get_ref<const std::string&>().size() != 1)
    return std::nullopt;
  if (!std::all_of(values.begin() + 1, values.end(), [](const json& value) { return value.is_number_integer(); }))
    return std::nullopt;
  const auto number = [&](std::size_t place) { return values[place].get<std::int64_t>(); };
  const char work = values[0].get_ref<const std::string&>()[0];
  const Row row{work, number(1), number(2), number(3), number(4), number(5), number(6), number(7)};
  const bool possible = is_cupti_time(row.begin) && is_cupti_time(row.end) && row.end >= row.begin && row.busy >= 0 &&
                        row.busy <= longest_busy && row.records >= 0;
  return possible ? std::optional(row) : std::nullopt;
}

// The lines of the file, before times are converted and streams are told apart.
class Lines {
 public:
  explicit Lines(TruthFile& file) : file_(file) {}
  void take(const json& line);
  void check_header() const;
  void finish();

 private:
  void take_header(const json& line);
  void take_clock(const json& line);
  void take_rows(const json& line);
  void take_counts(const json& line);
  void place(const Row& row, const ClockMap& clock);

  TruthFile& file_;
  bool headed_ = false;
  std::vector<Row> rows_;
  std::vector<ClockReading> clocks_;
  std::map<std::int64_t, int> devices_;  // by CUPTI's number
  using Stream = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  std::set<Stream> fill_streams_;  // CUPTI's device, context and stream
  std::uint64_t earlier_[5] = {};  // counts of parts that have ended
};

void Lines::take_header(const json& line) {
  if (text(line, "format") != "weft-truth")
    throw std::runtime_error(printable(file_.path) + " is no truth file of Weft");
  if (const std::int64_t version = integer(line, "version"); version < 1 || version > newest_version)
    throw std::runtime_error(printable(file_.path) + " has version " + std::to_string(version) +
                             " of the truth format; this Weft reads version 1");
  headed_ = true;
  file_.host = text(line, "host");
  file_.process = integer(line, "process");
  file_.start_id = integer(line, "start_id");
  file_.rank = integer(line, "rank");
  file_.cupti = count(line, "cupti");
  file_.ended = false;
}

void Lines::take_clock(const json& line) {
  const ClockReading reading{integer(line, "before"), integer(line, "cupti"), integer(line, "after")};
  if (is_time(reading.before) && is_cupti_time(reading.cupti) && is_time(reading.after))
    clocks_.push_back(reading);
  else
    ++file_.bad_lines;
}

void Lines::take_rows(const json& line) {
  const auto rows = line.find("rows");
  if (rows == line.end() || !rows->is_array()) return void(++file_.bad_lines);
  for (const json& values : *rows)
    if (const auto row = row_of(values))
      rows_.push_back(*row);
    else
      ++file_.bad_lines;
}

// A later line of a part of the run replaces an earlier one; the parts add up.
void Lines::take_counts(const json& line) {
  std::uint64_t* const totals[] = {&file_.records, &file_.dropped, &file_.untimed, &file_.unreadable, &file_.unwritten};
  const char* const keys[] = {"records", "dropped", "untimed", "unreadable", "unwritten"};
  for (std::size_t i = 0; i < 5; ++i) *totals[i] = earlier_[i] + count(line, keys[i]);
  if (text(line, "type") != "end") return;
  file_.ended = true;
  for (std::size_t i = 0; i < 5; ++i) earlier_[i] = *totals[i];
}

void Lines::take(const json& line) {
  const std::string type = line.is_object() ? text(line, "type") : "";
  if (type == "header") return take_header(line);
  if (!headed_ || type.empty()) return void(++file_.bad_lines);
  if (type == "off") file_.off = text(line, "reason");
  if (type == "device") devices_[integer(line, "cupti")] = static_cast<int>(integer(line, "device"));
  if (type == "fill") fill_streams_.insert({integer(line, "cupti"), integer(line, "context"), integer(line, "stream")});
  if (type == "clock") take_clock(line);
  if (type == "work") take_rows(line);
  if (type == "counts" || type == "end") take_counts(line);
}

void Lines::place(const Row& row, const ClockMap& clock) {
  const auto device = devices_.find(row.device);
  if (device == devices_.end()) return;  // of another GPU that no communicator was opened on
  DeviceTruth& truth = file_.devices[device->second];
  const Span span{clock.monotonic(row.begin), clock.monotonic(row.end)};
  file_.known.end = std::max(file_.known.end, span.end);
  if (fill_streams_.contains({row.device, row.context, row.stream})) {
    truth.fill.push_back(span);
    truth.fill_busy += row.busy;
    truth.fill_records += static_cast<std::uint64_t>(row.records);
  } else {
    (row.work == 'n' ? truth.communication : row.work == 'k' ? truth.compute : truth.copies).push_back(span);
  }
}

void Lines::check_header() const {
  if (!headed_) throw std::runtime_error(printable(file_.path) + " holds no header");
}

void Lines::finish() {
  check_header();
  const ClockMap clock(clocks_);
  file_.clocks = !clocks_.empty();
  file_.clocks_rise = clock.rises();
  file_.clock_uncertainty = clock.uncertainty();
  for (const auto& [number, device] : devices_) file_.devices[device];
  if (!clocks_.empty()) file_.known.begin = std::ranges::min(clocks_, {}, &ClockReading::before).before;
  for (const Row& row : rows_) place(row, clock);
  if (file_.ended && !clocks_.empty())
    file_.known.end = std::max(file_.known.end, std::ranges::max(clocks_, {}, &ClockReading::after).after);
  for (auto& [number, truth] : file_.devices)
    for (Spans* spans : {&truth.communication, &truth.compute, &truth.copies, &truth.fill})
      *spans = united(std::move(*spans));
}

}  // namespace

TruthFile read_truth_file(const std::string& path) {
  TruthFile file;
  file.path = path;
  Lines lines(file);
  LineReader reader(path);
  while (const std::optional<FileLine> next = reader.next()) {
    if (next->cut_off) {
      file.torn = true;
      file.ended = false;
      break;
    }
    if (next->too_long)
      ++file.bad_lines;
    else
      lines.take(json::parse(next->text, nullptr, false));
  }
  file.read_error = reader.error();
  if (file.read_error != 0) file.ended = false;
  lines.finish();
  return file;
}

TruthFile read_truth_header(const std::string& path) {
  TruthFile file;
  file.path = path;
  Lines lines(file);
  LineReader reader(path);
  if (const std::optional<FileLine> first = reader.next()) lines.take(json::parse(first->text, nullptr, false));
  lines.check_header();
  return file;
}

}  // namespace weft
