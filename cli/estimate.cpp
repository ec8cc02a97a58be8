// weft estimate: what filling an observed run would have given.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/estimated_run.h"
#include "cli/parse.h"
#include "cli/price.h"
#include "cli/quantities.h"
#include "trace/fixed_text.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/read/same_file.h"

namespace weft::cli {
namespace {

struct Wanted {
  std::vector<std::string> directories, fill{"400x25us"}, budgets{"0.1%", "1%"};
  std::string slice_text = "300us";
  Duration slice{300'000};
  std::vector<JobLengths> jobs;
  std::vector<Case> cases;
  std::vector<std::string> budget_of_case;
  PriceFlags price;
  bool json = false;
};

// Of all ranks, under one case.
struct Total {
  double idle_share = 0, filled_share = 0;  // means over the ranks
  double most_delay = 0, all_delays = 0;    // of one rank, and of all together
  double hours = 0, units = 0;              // in a day
  double conversion() const { return idle_share > 0 ? filled_share / idle_share : 0; }
};

Total total_of(const EstimatedRun& run, const Wanted& wanted, std::size_t index) {
  Total total;
  const auto ranks = static_cast<double>(run.ranks.size());
  for (const EstimatedRun::Rank& rank : run.ranks) {
    const RankEstimate& estimate = rank.cases[index];
    total.idle_share += rank.idle_share / ranks;
    total.filled_share += estimate.filled_share / ranks;
    total.most_delay = std::max(total.most_delay, estimate.delay_share);
    total.all_delays += estimate.delay_share;
    total.hours += 24 * estimate.filled_share;
  }
  const Duration unit = wanted.jobs[wanted.cases[index].job].unit();
  total.units = 3600 * total.hours / (static_cast<double>(unit.count()) / 1e9);
  return total;
}

// The least, as the delays are the most; nothing without a price.
std::optional<model::Saving> saving_of(const EstimatedRun& run, const Wanted& wanted, const Total& total) {
  const std::optional<model::Prices> prices = wanted.price.prices();
  if (!prices) return std::nullopt;
  return model::saving_of(static_cast<double>(run.ranks.size()), total.hours / 24, total.all_delays, *prices);
}

void complete(Wanted& wanted) {
  if (wanted.slice <= Duration{}) throw std::invalid_argument("--slice has to be more than 0");
  for (const std::string& text : wanted.fill) {
    if (text.find(';') != std::string::npos)
      throw std::invalid_argument("'" + text + "': the terms of jobs are for weft simulate; here each job is alone");
    wanted.jobs.push_back(parse_job_lengths(text));
  }
  for (std::size_t job = 0; job < wanted.jobs.size(); ++job) {
    for (const std::string& text : wanted.budgets) {
      double budget = 0;
      budget_into(budget)({text});
      wanted.cases.push_back({job, budget});
      wanted.budget_of_case.push_back(text);
    }
  }
}

nlohmann::ordered_json json_of(const EstimatedRun& run, const Wanted& wanted) {
  nlohmann::ordered_json estimates = nlohmann::ordered_json::array();
  for (std::size_t index = 0; index < wanted.cases.size(); ++index) {
    const Total total = total_of(run, wanted, index);
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const EstimatedRun::Rank& rank : run.ranks) {
      const RankEstimate& estimate = rank.cases[index];
      ranks.push_back({{"rank", rank.name},
                       {"idle_share", rank.idle_share},
                       {"conversion", estimate.conversion},
                       {"gpu_hours_per_day", 24 * estimate.filled_share},
                       {"delay_share", estimate.delay_share},
                       {"bubbles", estimate.counted.bubbles},
                       {"filled_bubbles", estimate.counted.filled_bubbles},
                       {"slices", estimate.counted.slices}});
    }
    estimates.push_back(
        {{"job", wanted.jobs[wanted.cases[index].job].name},
         {"options", {{"WEFT_SLICE", wanted.slice_text}, {"WEFT_SLOWDOWN_BUDGET", wanted.budget_of_case[index]}}},
         {"idle_share", total.idle_share},
         {"conversion", total.conversion()},
         {"gpu_hours_per_day", total.hours},
         {"units_per_day", total.units},
         {"delay_share_of_one_rank", total.most_delay},
         {"delay_share_of_all_ranks", total.all_delays},
         {"least_saving", json_of_saving(saving_of(run, wanted, total))},
         {"ranks", ranks}});
  }
  return {{"ranks", run.ranks.size()}, {"estimates", estimates}, {"notes", run.notes}};
}

void print_ranks(const EstimatedRun& run, std::size_t index) {
  constexpr std::size_t most = 16;
  for (std::size_t i = 0; i < std::min(most, run.ranks.size()); ++i) {
    const EstimatedRun::Rank& rank = run.ranks[i];
    const RankEstimate& estimate = rank.cases[index];
    std::printf("  rank %-9s %5.1f %%  %5.1f %%  %9.2f  %11.3f %%\n", FixedText<32>(rank.name).c_str(),
                100 * rank.idle_share, 100 * estimate.conversion, 24 * estimate.filled_share,
                100 * estimate.delay_share);
  }
  if (run.ranks.size() > most) std::printf("  and %zu more ranks: --json has them all\n", run.ranks.size() - most);
}

void print_case(const EstimatedRun& run, const Wanted& wanted, std::size_t index) {
  const Total total = total_of(run, wanted, index);
  std::printf("\n%s, WEFT_SLICE=%s, WEFT_SLOWDOWN_BUDGET=%s\n",
              printable(wanted.jobs[wanted.cases[index].job].name).c_str(), wanted.slice_text.c_str(),
              wanted.budget_of_case[index].c_str());
  std::printf("                    idle   filled  hours/day  delay at most\n");
  print_ranks(run, index);
  std::printf("  all            %5.1f %%  %5.1f %%  %9.2f  %11.3f %%\n", 100 * total.idle_share,
              100 * total.conversion(), total.hours, 100 * total.all_delays);
  std::printf("  %.0f units in a day\n", total.units);
  if (const std::optional<model::Saving> saving = saving_of(run, wanted, total)) {
    std::printf("  ");
    print_saving(*saving, true);
  }
}

void print_text(const EstimatedRun& run, const Wanted& wanted) {
  std::printf("%zu rank%s\n", run.ranks.size(), run.ranks.size() == 1 ? "" : "s");
  for (std::size_t index = 0; index < wanted.cases.size(); ++index) print_case(run, wanted, index);
  // Without a budget all iterations are filled, and nothing holds the delay down.
  const bool has_budget =
      std::ranges::any_of(wanted.cases, [](const Case& each) { return each.slowdown_budget != Budget::unlimited; });
  std::printf(
      "\nfilled: of the idle time%s\n"
      "hours/day: of GPU time that fill work would have got\n"
      "delay at most: if the training waited for all of every slice that outlasts its bubble; 'all' adds up the ranks\n"
      "%s",
      has_budget ? ", in a day in which some iterations go without fill for comparison" : "",
      has_budget ? "The slowdown budget holds the true one down, which is less: 'weft simulate' shows by how much.\n"
                 : "");
  for (const std::string& note : run.notes) std::printf("note: %s\n", note.c_str());
}

}  // namespace

int estimate_verb(const Arguments& arguments) {
  Wanted wanted;
  CLI::App app(
      "Says what filling an observed run would have given, from its traces: how much of the idle time, and the most "
      "that it could have cost.\n\n"
      "No GPU is needed. Each job is estimated alone, with each slowdown budget.",
      "weft estimate");
  app.add_option("DIR", wanted.directories, "Folder of the traces. Several where each rank has its own.")
      ->required()
      ->type_name("");
  app.add_option("--fill", wanted.fill,
                 "A job by the kernels of its unit. [NAME=]COUNTxLENGTH[,COUNTxLENGTH...]; may be given again.")
      ->type_name("KERNELS")
      ->expected(1)
      ->take_all()
      ->default_str("400x25us");
  app.add_option("--slowdown-budget", wanted.budgets,
                 "By so much filling may slow down an iteration. As WEFT_SLOWDOWN_BUDGET; may be given again.")
      ->type_name("PERCENT")
      ->expected(1)
      ->take_all()
      ->default_str("0.1% and 1%");
  app.add_option_function<std::string>(
         "--slice",
         [&](const std::string& text) {
           duration_into(wanted.slice)({text});
           wanted.slice_text = text;
         },
         "Longest slice. As WEFT_SLICE.")
      ->type_name("DURATION")
      ->default_str("300us");
  wanted.price.add_to(app);
  app.add_flag("--json", wanted.json, "One JSON object.");
  if (const auto code = parse(app, arguments)) return *code;
  try {
    complete(wanted);
  } catch (const CLI::ValidationError& error) {
    complain(error.what());
    return wrong_usage;
  } catch (const std::invalid_argument& error) {
    complain(error.what());
    return wrong_usage;
  }
  const EstimatedRun run = estimate_run(each_once(wanted.directories), wanted.jobs, wanted.cases, wanted.slice);
  if (wanted.json)
    std::printf("%s\n", json_of(run, wanted).dump(2).c_str());
  else
    print_text(run, wanted);
  return 0;
}

}  // namespace weft::cli
