// weft diff: two runs held against each other.
#include <cstdio>
#include <string>

#include "cli/colours.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "trace/compare/comparison.h"

namespace weft::cli {

int diff_verb(const Arguments& arguments) {
  bool json = false;
  std::string first_place, second_place;
  CLI::App app(
      "Compares two runs from their traces, each number with a 95 % interval: iteration time, idle time by cause, over "
      "all ranks, by stage and by rank.\n\n"
      "Where an interval holds zero there is no difference that these traces show, and it is said how large one may be "
      "at most. The intervals take into account that iterations that follow each other are alike, and that a run "
      "drifts; they know nothing of how much one run of a program differs from the next (docs/diff.md). Times in the "
      "JSON form are nanoseconds, shares fractions.",
      "weft diff");
  app.add_option("A", first_place, "Folder of the traces of the one run.")->required()->type_name("");
  app.add_option("B", second_place, "Folder of the traces of the other.")->required()->type_name("");
  app.add_flag("--json", json, "One JSON object.");
  if (const auto code = parse(app, arguments)) return *code;
  ProgressBar bar;
  const ComparedRun first = read_compared_run(first_place, &bar), second = read_compared_run(second_place, &bar);
  bar.clear();
  const RunComparison comparison = compare_runs(first, second);
  if (json)
    std::fputs(to_json(comparison, first, second).c_str(), stdout);
  else
    print_inked(to_text(comparison, first, second));
  return diff_done;
}

}  // namespace weft::cli
