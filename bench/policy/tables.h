// The tables of bench_policy, as Markdown on stdout.
#pragma once

#include <cstdint>
#include <string>

namespace weft::bench {

struct TableOptions {
  std::uint64_t seed = 1;
  unsigned threads = 1;
  double interference = 0;
  std::string schedule;  // only this one, in tables of schedules; "": all
};

// Schedules, stages, lengths and jitters at two budgets.
void print_schedules(const TableOptions& options);
// One pipeline per schedule under several budgets.
void print_budgets(const TableOptions& options);
// Weft beside the systems that it is compared with.
void print_policies(const TableOptions& options);

}  // namespace weft::bench
