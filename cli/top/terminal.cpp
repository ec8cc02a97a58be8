// See terminal.h.
#include "cli/top/terminal.h"

#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#define NCURSES_NOMACROS  // its macros have names of everyday words
#include <ncurses.h>

#include "trace/read/printable.h"

namespace weft::cli {
namespace {

volatile std::sig_atomic_t asked_to_end = 0;

void note_signal(int /*signal*/) {
  asked_to_end = 1;
}

// Those that would leave the terminal as it is while the screen stands there. They and that of another size come only
// while a key is waited for, so that none is missed. Returns the mask for that time.
sigset_t take_signals() {
  struct sigaction action {};
  action.sa_handler = &note_signal;
  ::sigemptyset(&action.sa_mask);
  sigset_t ours, waiting;
  ::sigemptyset(&ours);
  ::sigaddset(&ours, SIGWINCH);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::sigaction(signal, &action, nullptr);
    ::sigaddset(&ours, signal);
  }
  ::sigprocmask(SIG_BLOCK, &ours, &waiting);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) ::sigdelset(&waiting, signal);
  return waiting;
}

enum Pair : short { yellow_pair = 1, red_pair = 2 };

attr_t attribute_of(TopStyle style, bool colours) {
  switch (style) {
    case TopStyle::bold:
      return A_BOLD;
    case TopStyle::dim:
      return A_DIM;
    case TopStyle::head:
      return A_REVERSE;
    case TopStyle::yellow:
      return colours ? static_cast<attr_t>(COLOR_PAIR(yellow_pair)) : A_BOLD;
    case TopStyle::red:
      return colours ? static_cast<attr_t>(COLOR_PAIR(red_pair)) : A_BOLD;
    case TopStyle::plain:
      break;
  }
  return A_NORMAL;
}

TopPress press_of(int key) {
  constexpr int escape = 27, delete_character = 127;
  switch (key) {
    case KEY_UP:
      return {TopKey::up, 0};
    case KEY_DOWN:
      return {TopKey::down, 0};
    case KEY_PPAGE:
      return {TopKey::page_up, 0};
    case KEY_NPAGE:
      return {TopKey::page_down, 0};
    case KEY_HOME:
      return {TopKey::home, 0};
    case KEY_END:
      return {TopKey::end, 0};
    case KEY_ENTER:
    case '\n':
    case '\r':
      return {TopKey::enter, 0};
    case KEY_BACKSPACE:
    case '\b':
    case delete_character:
      return {TopKey::backspace, 0};
    case escape:
      return {TopKey::escape, 0};
    default:
      break;
  }
  if (key > 0 && key < delete_character) return {TopKey::character, static_cast<char>(key)};
  return {};
}

}  // namespace

TopTerminal::TopTerminal(bool colours) {
  constexpr int escape_delay = 25;  // ms in which the rest of a key's sequence has to come
  utf8_ = std::setlocale(LC_CTYPE, "") != nullptr && std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  const char* const name = std::getenv("TERM");
  if (::newterm(nullptr, stdout, stdin) == nullptr)
    throw std::runtime_error("the terminal '" + printable(name == nullptr ? "" : name) +
                             "' (TERM) is not known here; weft top --once prints the table");
  colours_ = colours && ::has_colors() && ::start_color() == OK;
  if (colours_) {
    const short ground = ::use_default_colors() == OK ? -1 : COLOR_BLACK;
    ::init_pair(yellow_pair, COLOR_YELLOW, ground);
    ::init_pair(red_pair, COLOR_RED, ground);
  }
  ::set_escdelay(escape_delay);
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, true);
  ::nodelay(stdscr, true);
  ::curs_set(0);
  while_waiting_ = take_signals();
}

TopTerminal::~TopTerminal() {
  ::endwin();
}

TopSize TopTerminal::size() const {
  const int columns = ::getmaxx(stdscr), lines = ::getmaxy(stdscr);
  return {static_cast<std::size_t>(columns), static_cast<std::size_t>(lines)};
}

// The last place of the screen stays empty: a character there makes some terminals scroll.
void TopTerminal::show(const std::vector<TopLine>& lines) {
  ::werase(stdscr);
  for (std::size_t number = 0; number < lines.size(); ++number) {
    ::wmove(stdscr, static_cast<int>(number), 0);
    for (const TopSpan& span : lines[number]) {
      ::wattrset(stdscr, static_cast<int>(attribute_of(span.style, colours_)));
      ::waddstr(stdscr, span.text.c_str());
    }
  }
  ::wattrset(stdscr, static_cast<int>(A_NORMAL));
  ::wrefresh(stdscr);
}

// A signal ends the waiting: that of another size becomes a key of ncurses.
TopPress TopTerminal::wait_for_key(Duration time) {
  constexpr std::int64_t per_second = 1'000'000'000;
  const timespec limit{time.count() / per_second, time.count() % per_second};
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = ::ppoll(&input, 1, &limit, &while_waiting_);
  if (ready > 0 && (input.revents & POLLIN) == 0) asked_to_end = 1;  // nobody is there any more
  const int key = ::wgetch(stdscr);
  if (ready > 0 && key == ERR && (input.revents & POLLHUP) != 0) asked_to_end = 1;
  return key == ERR || key == KEY_RESIZE ? TopPress{} : press_of(key);
}

bool TopTerminal::is_asked_to_end() const {
  return asked_to_end != 0;
}

}  // namespace weft::cli
