// weft completion: the script with which a shell completes the command line of weft. It asks `weft __complete` for the
// candidates, so it knows nothing of verbs and options, and stays right when they change.
#include <cstdio>
#include <string_view>

#include "cli/parse.h"

namespace weft::cli {

extern const std::string_view completion_bash, completion_zsh, completion_fish;

int completion_verb(const Arguments& arguments) {
  std::string shell;
  CLI::App app(
      "Prints the script with which a shell completes verbs, options and values.\n\n"
      "bash: source <(weft completion bash)\n"
      "zsh: source <(weft completion zsh), behind compinit\n"
      "fish: weft completion fish | source",
      "weft completion");
  app.add_option("SHELL", shell, "The shell.")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  if (const auto code = parse(app, arguments)) return *code;
  const std::string_view script = shell == "bash" ? completion_bash : shell == "zsh" ? completion_zsh : completion_fish;
  std::fwrite(script.data(), 1, script.size(), stdout);
  return succeeded;
}

}  // namespace weft::cli
