// All tables are open at once, and each rank's rows follow those of the rank before; see the header.
#include "trace/export/csv.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "trace/export/csv_fields.h"
#include "trace/export/output.h"

namespace weft {
namespace {

// Of every row: a record's own `rank` is that in a communicator, or none.
constexpr const char* trace_columns = "trace_rank,trace_process";
constexpr const char* header_columns = "clock_shift,file";

// When a record is of, where it has more than its time.
class Extent : public IgnoredFields {
 public:
  explicit Extent(TimePoint time) : begin(time), end(time) {}
  void begin_time(const char*, TimePoint value) { begin = value; }
  void end_time(const char*, TimePoint value) { end = value; }
  void time_if(bool known, const char*, TimePoint value) {
    if (known) begin = std::min(begin, value);
  }
  TimePoint begin, end;
};

class Tables {
 public:
  explicit Tables(const OutputFolder& folder) {
#define RECORD(kind, Type)                 \
  {                                        \
    Record record(0, TimePoint{}, Type{}); \
    std::string columns;                   \
    CsvColumns fields(columns);            \
    visit_common_fields(fields, record);   \
    visit_fields(fields, record.kind);     \
    open(folder, #kind, columns);          \
  }
#include "trace/record_kinds.def"
#undef RECORD
    header_ = with_columns_of<TraceHeader>(folder, "header", std::string(",") + header_columns);
    summary_ = with_columns_of<TraceSummary>(folder, "summary", "");
  }

  void row(RecordKind kind, const std::string& line) {
    write(static_cast<std::size_t>(kind), line);
  }
  void header_row(const std::string& line) {
    write(header_, line);
  }
  void summary_row(const std::string& line) {
    write(summary_, line);
  }

  CsvCounts finish() {
    counts_.tables = files_.size();
    for (const auto& file : files_) {
      counts_.bytes += file->bytes();
      file->finish();
    }
    return counts_;
  }

 private:
  std::size_t open(const OutputFolder& folder, const std::string& name, const std::string& columns) {
    files_.push_back(std::make_unique<OutputFile>(folder / (name + ".csv")));
    files_.back()->write(std::string(trace_columns) + "," + columns + "\n");
    return files_.size() - 1;
  }
  template <class Type>
  std::size_t with_columns_of(const OutputFolder& folder, const char* name, const std::string& more) {
    Type value{};
    std::string columns;
    CsvColumns fields(columns);
    visit_fields(fields, value);
    return open(folder, name, columns + more);
  }
  void write(std::size_t table, const std::string& line) {
    files_[table]->write(line);
    ++counts_.rows;
  }

  std::vector<std::unique_ptr<OutputFile>> files_;  // first those of the kinds, in their order
  std::size_t header_ = 0, summary_ = 0;
  CsvCounts counts_;
};

class RowWriter : public RecordTaker {
 public:
  RowWriter(const ExportedRank& rank, Tables& tables)
      : rank_(rank),
        tables_(tables),
        trace_(std::to_string(rank.header.rank) + "," + std::to_string(rank.process.process) + ",") {}

  void header(const TraceHeader& header) override {
    tables_.header_row(line_of([&](CsvCells& cells) { visit_fields(cells, header); }) + "," +
                       std::to_string(rank_.shift.count()) + "," + csv_text(rank_.path) + "\n");
  }
  void take(const Record& record) override {
    Extent extent(record.time);
    visit_kind(record, [&](const auto& what) { visit_fields(extent, what); });
    if (!rank_.window.touches(extent.begin, extent.end)) return;
    tables_.row(record.kind, line_of([&](CsvCells& cells) {
                               visit_common_fields(cells, record);
                               visit_kind(record, [&](const auto& what) { visit_fields(cells, what); });
                             }) + "\n");
  }
  void summary(const TraceSummary& summary) override {
    tables_.summary_row(line_of([&](CsvCells& cells) { visit_fields(cells, summary); }) + "\n");
  }

 private:
  template <class Visit>
  std::string line_of(Visit visit) const {
    std::string line = trace_;
    CsvCells cells(line);
    visit(cells);
    return line;
  }

  const ExportedRank& rank_;
  Tables& tables_;
  std::string trace_;
};

}  // namespace

CsvCounts export_csv(const ExportedRun& run, const std::string& folder, ReadProgress* progress) {
  OutputFolder output(folder);
  Tables tables(output);
  if (progress != nullptr) progress->begin("writing tables", run.bytes());
  for (const ExportedRank& rank : run.ranks) {
    RowWriter writer(rank, tables);
    read_rank(rank, writer, progress);
  }
  const CsvCounts counts = tables.finish();
  output.finish();
  return counts;
}

}  // namespace weft
