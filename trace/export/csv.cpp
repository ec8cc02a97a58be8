// All tables are open at once, and each rank's rows follow those of the rank before; see the header.
#include "trace/export/csv.h"

#include <array>
#include <memory>
#include <optional>

#include "trace/export/csv_fields.h"
#include "trace/export/output.h"

namespace weft {
namespace {

// Of every row: a record's own `rank` is that in a communicator, or none.
constexpr const char* trace_columns = "trace_rank,trace_process,segment";
constexpr const char* header_columns = "clock_shift,clock_within,file";
constexpr const char* shift_columns = "trace_rank,trace_process,time,shift,within";

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
    shift_ = open(folder, "clock_shift", shift_columns, "");
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
  void shift_row(const std::string& line) {
    write(shift_, line);
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
  std::size_t open(const OutputFolder& folder, const std::string& name, const std::string& columns,
                   const std::string& in_front = std::string(trace_columns) + ",") {
    files_.push_back(std::make_unique<OutputFile>(folder / (name + ".csv")));
    files_.back()->write(in_front + columns + "\n");
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
  std::size_t header_ = 0, summary_ = 0, shift_ = 0;
  CsvCounts counts_;
};

class RowWriter : public RecordTaker {
 public:
  RowWriter(const ExportedRank& rank, const RunClocks& clocks, Tables& tables)
      : rank_(rank), clocks_(clocks), tables_(tables) {}

  void header(const TraceHeader& header, std::size_t segment) override {
    trace_ = std::to_string(rank_.header.rank) + "," + std::to_string(rank_.process.process) + "," +
             std::to_string(segment + 1) + ",";
    tables_.header_row(line_of([&](CsvCells& cells) { visit_fields(cells, header); }) + "," +
                       shift_cells(rank_.shift(header.started)) + "," + csv_text(rank_.path) + "\n");
  }
  // Between two rows the shift is on the straight line.
  void write_shifts() {
    const std::string trace = std::to_string(rank_.header.rank) + "," + std::to_string(rank_.process.process) + ",";
    for (const ClockOffset::Knot& knot : rank_.to_first->knots()) {
      const TimePoint time = knot.time + rank_.clock.offset;
      tables_.shift_row(trace + std::to_string(time.time_since_epoch().count()) + "," + shift_cells(rank_.shift(time)) +
                        "\n");
    }
  }
  void take(const Record& record) override {
    tables_.row(record.kind, line_of([&](CsvCells& cells) {
                               visit_common_fields(cells, record);
                               visit_kind(record, [&](const auto& what) { visit_fields(cells, what); });
                             }) + "\n");
  }
  void summary(const TraceSummary& summary) override {
    tables_.summary_row(line_of([&](CsvCells& cells) { visit_fields(cells, summary); }) + "\n");
  }

 private:
  // Of a rank that was put there by a wall clock nobody knows within which time that is right.
  std::string shift_cells(const KnownOffset& shift) const {
    const bool is_known = clocks_.clocks()[rank_.clock.clock].beside == clocks_.first();
    return std::to_string(shift.ahead.count()) + "," + (is_known ? std::to_string(shift.within.count()) : "");
  }
  template <class Visit>
  std::string line_of(Visit visit) const {
    std::string line = trace_;
    CsvCells cells(line);
    visit(cells);
    return line;
  }

  const ExportedRank& rank_;
  const RunClocks& clocks_;
  Tables& tables_;
  std::string trace_;  // cells in front of each row
};

}  // namespace

CsvCounts export_csv(const ExportedRun& run, OutputFolder& folder, ReadProgress* progress) {
  Tables tables(folder);
  if (progress != nullptr) progress->begin("writing tables", run.bytes());
  for (const ExportedRank& rank : run.ranks) {
    RowWriter writer(rank, run.clocks, tables);
    writer.write_shifts();
    read_rank(rank, writer, progress);
  }
  const CsvCounts counts = tables.finish();
  folder.finish();
  return counts;
}

}  // namespace weft
