// A table in the data block of a report: what a plot is drawn from, what its CSV button gives, and what a tip says.
//
// Used by the files of the data block. Pure. Times are nanoseconds, shares hundredths of a percent; what is not known
// is null.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "detector/time.h"

namespace weft::report {

using nlohmann::ordered_json;

// How the page writes the values of a column: words, a number of things, milliseconds, percent with two decimals, with
// their sign, an index into the column's labels.
namespace format {
inline constexpr const char *words = "w", *number = "n", *time = "ms", *percent = "%", *signed_percent = "+%",
                            *label = "i";
}  // namespace format

class DataTable {
 public:
  // Its name is that of the CSV file.
  explicit DataTable(const char* name) : name_(name) {}
  DataTable& column(const std::string& head, const char* how) {
    columns_.push_back({head, how});
    return *this;
  }
  DataTable& labels(const std::string& head, const std::vector<std::string>& texts) {
    columns_.push_back({head, format::label, texts});
    return *this;
  }
  void row(ordered_json values) { rows_.push_back(std::move(values)); }
  std::size_t size() const { return rows_.size(); }
  ordered_json json() && { return {{"name", name_}, {"columns", std::move(columns_)}, {"rows", std::move(rows_)}}; }

 private:
  const char* name_;
  ordered_json columns_ = ordered_json::array(), rows_ = ordered_json::array();
};

inline ordered_json share(double value) {
  return std::llround(1e4 * value);
}
inline ordered_json known_share(bool known, double value) {
  return known ? share(value) : ordered_json(nullptr);
}
// Of nothing it is null.
inline ordered_json share_of(double part, double whole) {
  return whole > 0 ? share(part / whole) : ordered_json(nullptr);
}
inline ordered_json share_of(Duration part, Duration whole) {
  return share_of(static_cast<double>(part.count()), static_cast<double>(whole.count()));
}

}  // namespace weft::report
