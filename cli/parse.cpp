// Help goes to stdout and is a success; a mistake is one line on stderr.
#include "cli/parse.h"

#include <algorithm>
#include <cstdio>

namespace weft::cli {

std::optional<int> parse(CLI::App& app, const Arguments& arguments) {
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    complain(text + "; see '" + app.get_name() + " --help'");
    return wrong_usage;
  }
}

std::string flag_of(const OptionInfo& option) {
  std::string flag = option.name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return "--" + flag;
}

}  // namespace weft::cli
