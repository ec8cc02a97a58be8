// The terminal of `weft top`, by ncurses: lines with styles out, keys in. Whatever ends the command, the terminal is as
// it was before.
//
// Used by the verb on its one thread. Nothing else in the command knows ncurses.
#pragma once

#include <csignal>
#include <vector>

#include "cli/top/screen.h"

namespace weft::cli {

class TopTerminal {
 public:
  // Throws std::runtime_error where there is no terminal that ncurses knows.
  explicit TopTerminal(bool colours);
  ~TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;

  // By LC_ALL, LC_CTYPE, LANG.
  bool is_utf8() const { return utf8_; }
  TopSize size() const;
  void show(const std::vector<TopLine>& lines);
  // The next key; after so long, or where the size has changed, none.
  TopPress wait_for_key(Duration time);
  // A signal wants the command to end.
  bool is_asked_to_end() const;

 private:
  bool utf8_ = false, colours_ = false;
  sigset_t while_waiting_{};
};

}  // namespace weft::cli
