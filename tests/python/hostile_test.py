#!/usr/bin/env python3
"""Files that are no traces, or no longer: each is an exception or a warning with file and line, and memory is bounded.
hostile_test.py runs itself in a second process to look at its memory."""
import json
import os
import random
import subprocess
import sys
import unittest

import weft
from written_traces import TraceTest, bubble, header, summary, text_of, values_of

MEBIBYTE = 1 << 20


class DamagedLines(TraceTest):
    def assert_skipped(self, line, fault="not readable"):
        """Between two bubbles, which stay."""
        path = self.folder / "rank0.100.jsonl"
        begin = text_of(header(), bubble(1)).encode()
        path.write_bytes(begin + line + b"\n" + text_of(bubble(2), summary()).encode())
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "id"), [1, 2], line[:80])
        self.assert_note(run, f"rank0.100.jsonl:3: this line is {fault} and is skipped")

    def test_are_skipped_and_named(self):
        for line in (b"", b"null", b"[]", b"{", b'{"type": "bubble"', b"\xff\xfe\x00", b"\x00" * 100,
                     b'{"type": "bubble", "id": NaN}', b'{"type": "bubble", "id": -Infinity}',
                     b'{"type": "bubble", "id": 1,}', b'{"id": 3}', b'{"type": 3}', b'{"type": ""}',
                     b'{"type": "anomaly", "text": "\xc3\x28"}', b'{"type": "anomaly", "text": "\\ud800"}',
                     b'{"type": "bubble", "id": ' + b"9" * 5000 + b"0x}", b"[" * 60_000, b'{"type":' * 5000):
            self.assert_skipped(line)

    def test_that_are_too_long_are_skipped_and_named(self):
        self.assert_skipped(json.dumps(bubble(text="x" * (64 * 1024))).encode(), "longer than 65536 bytes")

    def test_are_counted(self):
        self.write("rank0.100.jsonl", header(), "{", bubble(), "{", "{", summary())
        self.assert_note(self.load(), ":2: this line is not readable and is skipped (and 2 more such lines)")

    def test_a_last_line_that_breaks_off_is_named(self):
        self.write("rank0.100.jsonl", header(), bubble(1), more=json.dumps(bubble(2)))
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "id"), [1])
        self.assert_note(run, "rank0.100.jsonl:3: the last line breaks off")

    def test_a_trace_may_break_off_anywhere(self):
        whole = text_of(header(), bubble(1), bubble(2), summary()).encode()
        lines = [end for end, byte in enumerate(whole, 1) if byte == ord("\n")]
        path = self.folder / "rank0.100.jsonl"
        for end in range(lines[0], len(whole) + 1, 7):
            path.write_bytes(whole[:end])
            run = self.load()
            self.assertEqual(len(run.bubbles), sum(lines[index] <= end for index in (1, 2)))
            self.assertEqual([note for note in run.notes if "breaks off" in note] == [], end in lines)

    def test_of_a_key_that_stands_there_twice_the_last_value_counts(self):
        self.write_rank(lines=['{"type": "bubble", "time": 5, "device": 0, "id": 1, "id": 2}'])
        self.assertEqual(values_of(self.load().bubbles, "id"), [2])

    def test_garbage_in_the_middle_of_a_trace_harms_only_the_lines_that_it_hits(self):
        chance = random.Random(1)
        lines = [bubble(number) for number in range(1, 200)]
        good = text_of(header(), *lines, summary()).encode().splitlines(keepends=True)
        path = self.folder / "rank0.100.jsonl"
        for _ in range(20):
            damaged = list(good)
            for index in chance.sample(range(1, 200), 20):
                line = bytearray(damaged[index])
                for _ in range(4):
                    line[chance.randrange(len(line) - 1)] = chance.choice(b'\x00\xff{}[]",:19eE-+\\')
                damaged[index] = bytes(line)
            path.write_bytes(b"".join(damaged))
            found = self.load()
            sound = {number for number in range(1, 200) if damaged[number] == good[number]}
            self.assertLessEqual(sound, {row["id"] for row in found.bubbles})


class WrongValues(TraceTest):
    def test_are_left_empty_and_named(self):
        for key, value, fault in (("id", "7", "an integer of 64 bits"), ("id", 2**63, "an integer of 64 bits"),
                                  ("id", -(10**4000), "an integer of 64 bits"), ("id", True, "an integer of 64 bits"),
                                  ("id", 1.0, "an integer of 64 bits"), ("cause", 5, "a text"),
                                  ("left_out", 1, "a boolean"), ("opened", [1], "an integer of 64 bits"),
                                  ("cause", {"a": 1}, "a text")):
            self.write_rank(lines=[bubble(1), bubble(2, **{key: value}), bubble(3, **{key: value})])
            run = self.load()
            self.assertIsNone(run.bubbles[1][key])
            self.assertIsNotNone(run.bubbles[0][key])
            self.assertEqual(len(run.bubbles), 3)
            self.assert_note(run, f"rank0.100.jsonl:3: `{key}` is not {fault}; it is left empty (and values of 1 more line)")

    def test_in_an_object_too(self):
        self.write_rank(lines=[bubble(forecast={"median": "x"}), bubble(2, forecast=[1])])
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "forecast.median"), [None, None])
        self.assert_note(run, "rank0.100.jsonl:3: `forecast` is not an object", "and values of 1 more line")

    def test_the_largest_integers_are_kept(self):
        self.write_rank(lines=[bubble(2**63 - 1, opened=-(2**63))])
        row = self.load().bubbles[0]
        self.assertEqual((row["id"], row["opened"]), (2**63 - 1, -(2**63)))

    def test_an_infinite_number_is_left_empty(self):
        self.write_rank(lines=['{"type": "slowdown", "time": 1, "device": 0, "budget": 1e999, "share": 1}'])
        run = self.load()
        self.assertEqual((run.slowdown[0]["budget"], run.slowdown[0]["share"]), (None, 1))
        self.assert_note(run, "`budget` is not a number")

    def test_keys_and_kinds_without_end_are_bounded_and_named(self):
        lines = [bubble(number, **{f"key{number}": 1}) for number in range(600)]
        lines += [{"type": f"kind{number}", "time": 1, "device": 0} for number in range(600)]
        self.write_rank(lines=lines)
        run = self.load()
        self.assertEqual(len(run.bubbles), 600)
        self.assertLess(len(run.bubbles[0]), 400)
        self.assertLess(len(run.kinds), 400)
        self.assert_note(run, "rank0.100.jsonl:258: `key256` is left out", "256 keys that are not known")
        self.assert_note(run, "'kind256' and others are left out", "256 kinds that are not known")


class UnusableFiles(TraceTest):
    def assert_left_out(self, name, reason):
        """Alone it is an error, beside a good trace a note."""
        with self.assertRaisesRegex(weft.TraceError, reason):
            self.load()
        good = self.write_rank(0, 1, [bubble()], process=555)
        run = self.load()
        self.assertEqual(values_of(run.headers, "process"), [555])
        self.assertRegex(" ".join(run.notes), name + ".*" + reason + ".*; it is left out")
        good.unlink()

    def test_without_a_header(self):
        for content in (b"", b"\n\n", b"hello\n", os.urandom(100_000).replace(b"\n", b""), text_of(bubble()).encode()):
            (self.folder / "rank0.1.jsonl").write_bytes(content)
            self.assert_left_out("rank0.1.jsonl", "holds no header")

    def test_of_another_format_or_a_newer_version(self):
        for lines, reason in (([header(format="other")], ":1: this is not a trace of Weft"),
                              ([header(version=3)], ":1: version 3 of the trace format; this package reads up to 2"),
                              ([header(version="\x1b[31m")], r":1: version ..u001b"),
                              ([header(version=None)], ":1: version null of"),
                              ([header(), bubble(), header(version=99)], ":3: version 99"),
                              ([header(rank="x", process=1)], ":1: the header has no rank"),
                              ([header(rank=-1)], ":1: the header has no rank")):
            self.write("rank0.1.jsonl", *lines)
            self.assert_left_out("rank0.1.jsonl", reason)

    def test_that_are_no_regular_files(self):
        path = self.folder / "rank0.1.jsonl"
        path.mkdir()
        self.assert_left_out("rank0.1.jsonl", "is a directory, not a regular file")
        path.rmdir()
        os.mkfifo(path)
        self.assert_left_out("rank0.1.jsonl", "is a FIFO, not a regular file")
        path.unlink()
        path.symlink_to("/dev/zero")
        self.assert_left_out("rank0.1.jsonl", "is a device, not a regular file")
        path.unlink()
        path.symlink_to("nowhere")
        self.assert_left_out("rank0.1.jsonl", "cannot be read: No such file")

    def test_names_that_a_terminal_would_obey_are_shown_harmless(self):
        path = os.fsencode(self.folder) + b"/rank0.\x1b[31m\xff\xe2\x80\xae.jsonl"
        with open(path, "wb") as file:
            file.write(b"hello\n")
        with self.assertRaises(weft.TraceError) as caught:
            self.load()
        self.assertIn(r"rank0.\x1b[31m\xff\xe2\x80\xae.jsonl", str(caught.exception))


class Memory(TraceTest):
    def peak_of(self, **wanted):
        """Mebibytes of a process that loads the folder."""
        code = "import resource, sys, warnings, weft; warnings.simplefilter('ignore'); " \
               f"run = weft.load(sys.argv[1], frames='dicts', **{wanted!r}); " \
               "print(len(run.bubbles), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
        done = subprocess.run([sys.executable, "-c", code, str(self.folder)], check=True, capture_output=True, text=True)
        return tuple(map(int, done.stdout.split()))

    def test_of_a_line_of_a_gigabyte(self):
        path = self.write("rank0.100.jsonl", header(), bubble(1))
        with open(path, "ab") as file:
            file.seek(1024 * MEBIBYTE, os.SEEK_END)  # a hole: zeros that take no room
            file.write(b"\n" + text_of(bubble(2), summary()).encode())
        count, peak = self.peak_of()
        self.assertEqual(count, 2)
        self.assertLess(peak, 100)

    def test_does_not_grow_with_lines_that_are_not_wanted(self):
        line = text_of({"type": "group", "time": 5, "device": 0, "id": 1, "operations": [{"kind": "send"}] * 8})
        path = self.write("rank0.100.jsonl", header(), bubble(1))
        with open(path, "a", encoding="utf-8") as file:
            for _ in range(100):
                file.write(line * 4000)
            file.write(text_of(summary()))
        self.assertGreater(path.stat().st_size, 80 * MEBIBYTE)
        count, peak = self.peak_of(kinds=["bubble"])
        self.assertEqual(count, 1)
        self.assertLess(peak, 60)


if __name__ == "__main__":
    unittest.main()
