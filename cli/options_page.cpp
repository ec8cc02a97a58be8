// See the header.
#include "cli/options_page.h"

#include "cli/parse.h"

namespace weft::cli {
namespace {

std::string row_of(const OptionInfo& option) {
  const std::string usual = option.fallback;
  return "| `" + std::string(option.variable) + "` | `" + flag_of(option) + "` | " +
         (usual.empty() ? "not set" : "`" + usual + "`") + " | " + accepted_values(option) + " | " + option.help +
         " |\n";
}

}  // namespace

const char* const options_introduction = R"(Every option is a
variable of the environment and a flag of `weft run`: `WEFT_SLICE=200us` is `weft run --slice 200us`, or
`--set slice=200us`; `WEFT` itself is `--mode`. A variable that is set to nothing counts as not set. A value that is
malformed or out of its range is reported in one line and the default is used; an unknown `WEFT_` variable is reported
with the nearest name. `weft run --strict` refuses to run then. `--validate` alone means on; with a value it is
`--validate=off`. Of `weft run` alone are `--observe` (as `--mode observe`), `--set`, `--strict` and `--quiet`.

Sizes end in B, KiB, MiB, GiB, TiB or kB, MB, GB, TB, durations in ns, us, ms or s. A size without a unit is in bytes; a
duration without one is malformed, 0 excepted. A percentage is one without its sign, too: 0.01 is 0.01%, not
1%. In `WEFT_OUTPUT` and `WEFT_CHECKPOINT`, `%j` is the job id, `%h` the host, `%p` the process, `%r` the rank,
`%q{NAME}` a variable and `%%` a percent sign. A path with a variable that is unset or empty is not used: without its
beginning it could be a folder of the root. The default stands in for it. Another `%` stays in the name. Either is
reported like a malformed value. More about [memory](safety.md#memory), [the slowdown budget](slowdown-budget.md), [the
trace limit](trace.md) and [fill jobs](../examples/fill/README.md).
)";

std::string options_markdown() {
  std::string page =
      "# Options\n\nWritten by `weft config --markdown` from `runner/options/options.def`; a test compares the two. ";
  page += options_introduction;
  for (const OptionSection& section : option_sections) {
    page += "\n## " + std::string(section.title) + "\n\n" + section.text +
            "\n\n| variable | flag | default | values | meaning |\n|---|---|---|---|---|\n";
    for (const OptionInfo& option : option_table())
      if (option.standing == section.standing) page += row_of(option);
  }
  return page + "\nExit codes: [cli.md](cli.md#exit-codes).\n";
}

}  // namespace weft::cli
