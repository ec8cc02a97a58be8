// Text from a trace, a file name or an argument, as it may go to a terminal: a trace may come from a broken disk or
// from somebody else, and must not be able to move the cursor or to colour the lines that follow.
//
// Used by `weft summary`, never inside the training process. Pure.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// The same text with each byte of a control character, of a character that turns the direction of writing, and of
// invalid UTF-8 as "\x1b". So the result has one line.
std::string printable(std::string_view text);

}  // namespace weft
