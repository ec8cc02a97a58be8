// The HTML of a report: one file with its style, its script and its data, which asks for nothing from outside.
//
// Used by `weft report` and tests. Pure.
#pragma once

#include <string>
#include <string_view>

namespace weft::cli {

// `data`: one JSON object in which nothing can end a script element (trace/report/report.h). `title` is text.
std::string report_page(std::string_view title, std::string_view data);

// With the letters that mean something in HTML as references.
std::string html_text(std::string_view text);

}  // namespace weft::cli
