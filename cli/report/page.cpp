// The parts put into their places; see the header. page.html, report.css and the scripts beside them are embedded at
// build time.
#include "cli/report/page.h"

namespace weft::cli {

extern const std::string_view report_html, report_style, report_script;

namespace {

std::string_view part_of(std::string_view name, std::string_view title, std::string_view data) {
  if (name == "title") return title;
  if (name == "style") return report_style;
  if (name == "data") return data;
  return report_script;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '<')
      result += "&lt;";
    else if (letter == '>')
      result += "&gt;";
    else if (letter == '&')
      result += "&amp;";
    else if (letter == '"')
      result += "&quot;";
    else
      result += letter;
  }
  return result;
}

// Each place is filled once: what a part holds is not looked through for further ones.
std::string report_page(std::string_view title, std::string_view data) {
  const std::string shown_title = html_text(title);
  std::string page;
  std::string_view left = report_html;
  for (std::size_t begin = left.find('@'); begin != std::string_view::npos; begin = left.find('@')) {
    const std::size_t end = left.find('@', begin + 1);
    page += left.substr(0, begin);
    page += part_of(left.substr(begin + 1, end - begin - 1), shown_title, data);
    left.remove_prefix(end + 1);
  }
  page += left;
  return page;
}

}  // namespace weft::cli
