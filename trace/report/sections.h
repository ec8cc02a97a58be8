// The sections of the page below its sentences, each as JSON: an id, a title, a caption, and the tables that its plots
// are drawn from; or why there is no plot ("missing").
//
// Used by data_block.cpp. Pure.
#pragma once

#include <string>
#include <vector>

#include "trace/report/data_table.h"
#include "trace/report/report.h"

namespace weft::report {

ordered_json headline_section(const Report& report);
ordered_json timeline_section(const Report& report);
ordered_json ranks_section(const Report& report);
ordered_json waits_section(const Report& report);
ordered_json slots_section(const Report& report);
ordered_json forecasts_section(const Report& report);
ordered_json filling_section(const Report& report);
ordered_json what_if_section(const Report& report);

// The causes of idle time that any rank has, in the order of the detector's list.
std::vector<std::string> causes_of(const RunSummary& run);

// " Of bubbles and iterations the traces hold only the first part of the run."; "": they hold all.
std::string first_part_text(const ReportedRun& run);

// "; 3 ranks are not shown"; "": none are left out.
std::string left_out_text(std::size_t count, const char* text);

// "rank 3", "stage 2 · rank 11".
std::string label_of(const ReportedRun& run, std::size_t trace);

}  // namespace weft::report
