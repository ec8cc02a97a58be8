// The values of an option that has a fixed set of them, for completion.
//
// Used by the weft command. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "runner/options/options.h"

namespace weft {

// `option`: of option_table(). Empty where other values are possible, too.
std::vector<std::string_view> accepted_words(const OptionInfo& option);

}  // namespace weft
