"""weft top on a pseudo-terminal: what it shows, its keys, another size of the terminal, and that the terminal is as
before when it has ended, however it ends.

Usage: terminal_test.py WEFT PAGE_WRITER
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

WEFT, PAGE_WRITER = sys.argv[1:3]


def is_described(terminal):
    places = [os.environ.get("TERMINFO", ""), "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"]
    return any(os.path.exists(os.path.join(place, terminal[0], terminal)) for place in places if place)


TERMINAL = next((name for name in ("xterm-256color", "xterm", "linux") if is_described(name)), None)


class Screen:
    """As much of a terminal as tells where a text stands: cursor addressing, erasing, scrolling is not asked for."""

    def __init__(self, columns, lines):
        self.resize(columns, lines)

    def resize(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.rows = [[" "] * columns for _ in range(lines)]
        self.x = self.y = 0
        self.waiting = ""

    def erase(self, begin, end):
        for place in range(begin, end):
            if place < self.columns * self.lines:
                self.rows[place // self.columns][place % self.columns] = " "

    def command(self, numbers, what):
        first = int(numbers.split(";")[0] or 0) if numbers.split(";")[0].isdigit() else 0
        place = self.y * self.columns + self.x
        if what in "Hf":
            parts = [int(part or 1) for part in (numbers or "1;1").split(";")] + [1]
            self.y, self.x = min(parts[0], self.lines) - 1, min(parts[1], self.columns) - 1
        elif what == "d":
            self.y = min(first or 1, self.lines) - 1
        elif what == "G":
            self.x = min(first or 1, self.columns) - 1
        elif what == "C":
            self.x = min(self.x + (first or 1), self.columns - 1)
        elif what == "D":
            self.x = max(self.x - (first or 1), 0)
        elif what == "A":
            self.y = max(self.y - (first or 1), 0)
        elif what == "B":
            self.y = min(self.y + (first or 1), self.lines - 1)
        elif what == "J":
            self.erase(0 if first == 2 else place, self.columns * self.lines)
        elif what == "K":
            row = self.y * self.columns
            self.erase(row if first == 1 else place, place + 1 if first == 1 else row + self.columns)
        elif what == "X":
            self.erase(place, place + (first or 1))
        elif what == "P":
            row = self.rows[self.y]
            self.rows[self.y] = (row[:self.x] + row[self.x + (first or 1):] + [" "] * (first or 1))[:self.columns]
        elif what == "@":
            row = self.rows[self.y]
            self.rows[self.y] = (row[:self.x] + [" "] * (first or 1) + row[self.x:])[:self.columns]
        elif what == "b":
            for _ in range(first or 1):
                self.put(self.last)

    def put(self, character):
        self.last = character
        if self.x < self.columns and self.y < self.lines:
            self.rows[self.y][self.x] = character
        self.x += 1

    def take(self, text):
        text = self.waiting + text
        self.waiting = ""
        pattern = re.compile(r"\x1b\[([?>0-9;]*)([@-~])|\x1b[()].|\x1b[=>78M]|\x1b\][^\x07]*\x07|.", re.DOTALL)
        for match in pattern.finditer(text):
            found = match.group(0)
            if found == "\x1b":
                self.waiting = text[match.start():]
                return
            if match.group(2):
                self.command(match.group(1), match.group(2))
            elif found == "\r":
                self.x = 0
            elif found == "\n":
                self.y = min(self.y + 1, self.lines - 1)
            elif found == "\b":
                self.x = max(self.x - 1, 0)
            elif found >= " " and len(found) == 1:
                self.put(found)

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.rows)


class Top:
    """weft top on a terminal of its own."""

    def __init__(self, *arguments, columns=80, lines=24, **variables):
        self.screen = Screen(columns, lines)
        self.master, self.slave = pty.openpty()
        self.set_size(columns, lines)
        self.before = termios.tcgetattr(self.slave)
        environment = {"PATH": os.environ["PATH"], "TERM": TERMINAL, "LC_ALL": "C.UTF-8"} | variables
        self.process = subprocess.Popen([WEFT, "top", *arguments], stdin=self.slave, stdout=self.slave,
                                        stderr=self.slave, env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.bytes = b""

    def set_size(self, columns, lines):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        self.screen.resize(columns, lines)
        self.set_size(columns, lines)

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return
        try:
            some = os.read(self.master, 65536)
        except OSError:
            return
        self.bytes += some
        self.screen.take(some.decode(errors="replace"))

    def shows(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, self.screen.text()):
                return self.screen.text()
            self.read(0.1)
        raise AssertionError(f"'{pattern}' is not on the screen:\n{self.screen.text()}")

    def press(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        end = time.monotonic() + 20
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.read(0)
        code = self.process.wait(1)
        restored = termios.tcgetattr(self.slave) == self.before
        os.close(self.master)
        os.close(self.slave)
        return code, restored


class OnATerminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.writer = subprocess.Popen([PAGE_WRITER, cls.folder.name, "64", "600"])
        while len([name for name in os.listdir(cls.folder.name) if name.endswith(".live")]) < 64:
            time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.writer.kill()
        cls.writer.wait()
        cls.folder.cleanup()

    def assert_ends(self, top):
        code, restored = top.end()
        self.assertEqual(code, 0)
        self.assertTrue(restored, "the settings of the terminal are others than before")
        self.assertIn(b"\x1b[?1049l" if b"\x1b[?1049h" in top.bytes else b"\x1b[", top.bytes)

    def test_64_ranks_are_shown_moved_sorted_and_filtered(self):
        top = Top(self.folder.name)
        text = top.shows(r"1-16 of 64")  # the last line
        self.assertRegex(text, r"\n +5 gone")
        self.assertRegex(text, r"64 ranks: 62 running, 1 silent, 1 gone")
        self.assertRegex(text, "\u2583")
        first = int(re.search(r"iteration (\d+)", text)[1])
        top.shows(rf"iteration (?!{first} )\d+")
        top.press("\x1b[6~")
        top.shows(r"17-32 of 64")
        top.press("ss")
        top.shows("sort: filled")
        top.press("r")
        top.shows("filled \\(reversed\\)")
        top.press("/60-63\r")
        text = top.shows("filter: 60-63")
        self.assertEqual(len(re.findall(r"\n +6[0-3] filling", text)), 4)
        top.press("h")
        top.shows("weft top: keys")
        top.press("q")
        self.assert_ends(top)

    def test_a_pause_stops_the_numbers(self):
        top = Top(self.folder.name, "--interval", "100ms")
        top.shows("q quit")
        top.press("p")
        text = top.shows("paused: p goes on")
        for _ in range(25):
            top.read(0.1)
        self.assertEqual(top.screen.text().splitlines()[1], text.splitlines()[1])
        top.press("q")
        self.assert_ends(top)

    def test_another_size_is_taken(self):
        top = Top(self.folder.name)
        top.shows("WAITS FOR")
        self.assertNotIn("FCAST", top.screen.text())
        top.resize(200, 50)
        top.shows(r"FCAST.*ITERATIONS\n(.*\n)* +40 filling")
        top.resize(30, 6)
        top.shows(r"RANK STATE")
        top.resize(80, 24)
        top.shows(r"1-16 of 64")
        top.press("q")
        self.assert_ends(top)

    def test_signals_end_it_and_leave_the_terminal_as_it_was(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            top = Top(self.folder.name, "--interval", "3600s")
            top.shows("q quit")
            top.process.send_signal(number)
            self.assert_ends(top)

    def test_no_colours_where_nobody_wants_them(self):
        for variables, wanted in (({}, True), ({"NO_COLOR": "1"}, False)):
            top = Top(self.folder.name, **variables)
            top.shows("gone")
            top.press("q")
            self.assert_ends(top)
            self.assertEqual(bool(re.search(rb"\x1b\[3[13]m", top.bytes)), wanted)

    def test_ascii_without_utf8(self):
        top = Top(self.folder.name, LC_ALL="C")
        top.shows("RANK")
        top.press("q")
        self.assert_ends(top)
        self.assertTrue(all(byte < 0x80 for byte in top.bytes))

    def test_it_waits_for_a_run(self):
        with tempfile.TemporaryDirectory() as folder:
            top = Top(folder + "/later", "--interval", "100ms")
            top.shows("no rank has a page here yet")
            subprocess.run([PAGE_WRITER, folder + "/later", "4"], check=True)
            top.shows(r"\n +3 ")
            top.press("q")
            self.assert_ends(top)

    def test_without_a_terminal_and_without_a_folder(self):
        """The newest folder of a run here, or the output that the environment names."""
        with tempfile.TemporaryDirectory() as folder:
            for name, ranks, age in (("weft-1", 2, 100), ("weft-2", 3, 0), ("weft-3", 4, 50)):
                subprocess.run([PAGE_WRITER, f"{folder}/{name}", str(ranks)], check=True)
                for page in os.scandir(f"{folder}/{name}"):
                    os.utime(page, (time.time() - age,) * 2)
            os.mkdir(f"{folder}/weft-4")

            def output(*arguments, **variables):
                return subprocess.run([WEFT, "top", *arguments], cwd=folder, env=variables, check=True,
                                      capture_output=True, text=True).stdout

            self.assertRegex(output("--once"), r"^weft top weft-2   3 ranks: 3 ")
            self.assertRegex(output("--once", WEFT_OUTPUT="weft-3"), r"^weft top weft-3   4 ranks: 4 ")
            ranks = json.loads(output("--json", "--ranks", "1-2", "--sort", "idle", "--reverse", "weft-3"))["ranks"]
            self.assertEqual([rank["rank"] for rank in ranks], [2, 1])
            self.assertTrue(all(line == line.rstrip() for line in output("--once").splitlines()))
            for form in ("--once", "--json"):
                none = subprocess.run([WEFT, "top", "weft-3", form, "--ranks", "9"], cwd=folder, capture_output=True,
                                      text=True)
                said = "weft: error: none of the wanted ranks has a page here; the last one is rank 3\n"
                self.assertEqual((none.returncode, none.stdout, none.stderr), (1, "", said))

    def test_an_unknown_terminal_is_named(self):
        top = Top(self.folder.name, TERM="none-of-that-name")
        code, restored = top.end()
        self.assertEqual((code, restored), (1, True))
        self.assertIn("weft top --once prints the table", top.bytes.decode())


if __name__ == "__main__":
    if TERMINAL is None:
        print("there is no description of a terminal (terminfo) here")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
