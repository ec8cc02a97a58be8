#!/usr/bin/env python3
"""weft.follow(): a run while it is being written."""
import functools
import itertools
import shutil
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import weft
from written_traces import BEGIN, SECOND, TraceTest, bubble, fill_slice, header, summary, text_of

# A test that waits for a line that never comes has failed.
LONGEST = 60


class Clock:
    """In place of the module `time`: each sleep takes as long as it should, and does the next thing."""

    def __init__(self, things):
        self._things = list(things)
        self._now = 0

    def monotonic(self):
        return self._now

    def sleep(self, seconds):
        self._now += seconds
        if self._things:
            self._things.pop(0)()


class FollowTest(TraceTest):
    def between_looks(self, *things):
        """They are done one after the other, between two looks each."""
        patch = unittest.mock.patch("weft._follow.time", Clock(things))
        patch.start()
        self.addCleanup(patch.stop)

    def follow(self, folder=None, **wanted):
        wanted = {"timeout": LONGEST, "interval": 0, **wanted}
        return weft.follow(folder or self.folder, **wanted)

    def all_of(self, **wanted):
        """(types of the lines, texts of the warnings)"""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lines = list(self.follow(**wanted))
        return [line["type"] for line in lines], [str(warning.message) for warning in caught]

    def append(self, path, *lines, more=""):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text_of(*lines) + more)

    def next_of(self, lines, count):
        return [line["type"] for line in itertools.islice(lines, count)]


class Lines(FollowTest):
    def test_of_a_run_that_has_ended_are_all_there_and_it_ends(self):
        self.write_rank(0, 2, [bubble(), fill_slice()])
        self.write_rank(1, 2, [bubble()])
        types, texts = self.all_of()
        self.assertEqual(sorted(types), ["bubble", "bubble", "header", "header", "slice", "summary", "summary"])
        self.assertEqual(texts, [])

    def test_are_as_in_the_trace_with_rank_process_and_segment(self):
        self.write_rank(0, 1, [bubble(forecast={"median": 5}), {"type": "sparkle", "time": 1, "device": 0, "rank": 9}])
        begin, first, second, end = self.follow()
        self.assertEqual((begin["rank"], begin["process"], begin["segment"]), (0, 100, 0))
        self.assertEqual((first["rank"], first["process"], first["segment"], first["forecast"]), (0, 100, 0, {"median": 5}))
        self.assertEqual((second["rank"], second["sparkle_rank"]), (0, 9))
        self.assertEqual(end["window_end"], 10_000)

    def test_come_when_they_are_written_to_their_end(self):
        path = self.write("rank0.100.jsonl", header(), bubble())
        whole = text_of(bubble(2, closed=4000), summary())
        parts = [whole[begin:begin + 50] for begin in range(0, len(whole), 50)]
        self.between_looks(*[functools.partial(self.append, path, more=part) for part in parts])
        lines = list(self.follow(interval=0.1))
        self.assertEqual([line["type"] for line in lines], ["header", "bubble", "bubble", "summary"])
        self.assertEqual(lines[2]["closed"], 4000)

    def test_of_kinds_and_ranks(self):
        for rank in range(3):
            self.write_rank(rank, 3, [bubble(), fill_slice()])
        self.assertEqual(self.all_of(kinds=["slice"], ranks=[1]), (["header", "slice", "summary"], []))
        with self.assertRaisesRegex(weft.TraceError, "has no rank 3, only 3 ranks"):
            self.all_of(ranks=[3])
        with self.assertRaises(ValueError):
            weft.follow(self.folder, kinds=["slices"])
        with self.assertRaises(ValueError):
            weft.follow(self.folder, timeout=-1)

    def test_of_several_headers_in_a_file_are_all_there(self):
        path = self.write_rank(0, 1, [bubble()])
        self.append(path, header(started=50), bubble(), summary())
        lines = list(self.follow())
        self.assertEqual([line["segment"] for line in lines], [0, 0, 0, 1, 1, 1])

    def test_that_are_longer_than_a_piece_of_reading_come_from_all_files(self):
        many = [bubble(number) for number in range(10_000)]
        for rank in range(2):
            self.write_rank(rank, 2, many)
        ranks = [line["rank"] for line in self.follow()]
        self.assertEqual(len(ranks), 2 * 10_002)
        self.assertLess(ranks.index(1), 9_000)  # rank 1 did not wait for all of rank 0


class Files(FollowTest):
    def test_that_appear_later_are_taken_up(self):
        path = self.folder / "later/rank1.101.jsonl"
        begin = text_of(header(1, 2))
        self.between_looks(lambda: path.parent.mkdir(),
                           lambda: self.write("later/rank1.101.jsonl", more=begin[:20]),
                           lambda: self.write("later/rank0.100.jsonl", header(0, 2), summary()),
                           lambda: self.append(path, more=begin[20:]),
                           lambda: self.append(path, bubble(), summary(1)))
        lines = self.follow(path.parent, interval=0.1)
        with self.assertWarnsRegex(weft.TraceWarning, "later does not exist.*; waiting for it"):
            self.assertEqual([line["type"] for line in lines], ["header", "summary", "header", "bubble", "summary"])

    def test_of_earlier_runs_are_left_out(self):
        self.write_rank(0, 1, [bubble()] * 3, process=90, begin=BEGIN - 1000 * SECOND)
        self.write_rank(0, 1, [fill_slice()])
        types, texts = self.all_of()
        self.assertEqual(types, ["header", "slice", "summary"])
        self.assertRegex(texts[0], "earlier runs that are left out: 1")

    def test_of_a_process_that_takes_over_a_killed_rank_are_followed(self):
        """The killed one never writes its summary."""
        self.write("rank0.90.jsonl", header(0, 1, 90), bubble(closed=5 * SECOND))
        lines = self.follow()
        self.assertEqual(self.next_of(lines, 2), ["header", "bubble"])
        self.write("rank0.91.jsonl", header(0, 1, 91, begin=BEGIN + 10 * SECOND), bubble(), summary())
        self.assertEqual(self.next_of(lines, 9), ["header", "bubble", "summary"])

    def test_of_two_processes_that_took_one_rank_are_both_waited_for(self):
        path = self.write("rank0.90.jsonl", header(0, 1, 90), bubble(closed=5 * SECOND))
        self.write("rank0.91.jsonl", header(0, 1, 91, begin=BEGIN + SECOND), bubble(closed=5 * SECOND), summary())
        lines = self.follow()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(len(self.next_of(lines, 5)), 5)
            self.append(path, summary())
            self.assertEqual(self.next_of(lines, 5), ["summary"])

    def test_that_are_replaced_are_followed_from_their_begin(self):
        path = self.write("rank0.1.jsonl", header(0, 1, 1), bubble())
        lines = self.follow()
        self.assertEqual(self.next_of(lines, 2), ["header", "bubble"])
        path.unlink()
        self.write("rank0.1.jsonl", header(0, 1, 1, begin=BEGIN + SECOND), *[fill_slice()] * 3, summary())
        with self.assertWarnsRegex(weft.TraceWarning, "was replaced or has become shorter"):
            self.assertEqual([line["type"] for line in lines], ["header", *["slice"] * 3, "summary"])

    def test_that_are_gone_are_noted(self):
        self.write("rank0.1.jsonl", header(0, 1, 1), bubble())
        lines = self.follow(timeout=0.2)
        self.assertEqual(self.next_of(lines, 2), ["header", "bubble"])
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(list(lines), [])
        self.assertRegex(str(caught[0].message), "rank0.1.jsonl cannot be read any more; it is left out from here on")

    def test_that_are_damaged_are_named_once(self):
        self.write_rank(lines=["{", "{", "x" * 70_000, bubble("1"), bubble("2"), bubble(3, forecast={"median": "x"})])
        lines, texts = self.all_of()
        self.assertEqual(lines, ["header", "bubble", "bubble", "bubble", "summary"])
        self.assertEqual(len(texts), 4)
        for place, fault, text in zip((2, 4, 5, 7), ("not readable", "too long", "`id` is not", "`forecast.median` is not"),
                                      texts):
            self.assertRegex(text, f"rank0.100.jsonl:{place}: .*{fault}.*; further ones of this file are not named")

    def test_that_are_no_traces_are_left_out(self):
        self.write_rank(0, 1, [bubble()])
        self.write("rank0.7.jsonl", header(version=99))
        types, texts = self.all_of()
        self.assertEqual(types, ["header", "bubble", "summary"])
        self.assertRegex(texts[0], "rank0.7.jsonl:1: version 99 of the trace format.*; it is left out")


class Timeout(FollowTest):
    def test_ends_it_and_names_the_ranks_without_summary(self):
        self.write("rank0.100.jsonl", header(0, 3), bubble(), summary())
        self.write("rank1.101.jsonl", header(1, 3), bubble())
        types, texts = self.all_of(timeout=0.2)
        self.assertEqual(len(types), 5)
        self.assertEqual(texts, ["no new line for 0.2 s, and no summary of rank 1, 2: still running, hanging, or killed"])

    def test_ends_it_also_where_a_header_tells_of_ranks_without_end(self):
        self.write("rank0.100.jsonl", header(0, 2**62 - 1), summary())
        types, texts = self.all_of(timeout=0.2)
        self.assertEqual(types, ["header", "summary"])
        self.assertRegex(texts[0], "no summary of rank 1, 2, 3, 4, 5, 6, 7, 8, ...: still")

    def test_without_any_trace_is_an_error(self):
        with self.assertRaisesRegex(weft.TraceError, "there are no traces"):
            self.all_of(timeout=0.1)
        with self.assertRaisesRegex(weft.TraceError, "does not exist"):
            self.all_of(folder=self.folder / "nowhere", timeout=0.1)

    def test_begins_anew_with_each_line(self):
        path = self.write("rank0.100.jsonl", header())
        def nothing():
            pass

        self.between_looks(*[nothing, nothing, lambda: self.append(path, bubble())] * 3,
                           nothing, nothing, nothing, nothing, lambda: self.append(path, bubble()))
        with self.assertWarns(weft.TraceWarning):
            lines = list(self.follow(timeout=4, interval=1))
        self.assertEqual([line["type"] for line in lines], ["header"] + ["bubble"] * 3)  # the last one came too late


class AgainstLoad(FollowTest):
    WRITER = """
import pathlib, random, sys, time
source, target, seed = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
chance, content, at = random.Random(seed), source.read_bytes(), 0
with open(target, "wb", buffering=0) as file:
    while at < len(content):
        at += file.write(content[at:at + chance.randrange(1, 5000)])
        if chance.random() < 0.2:
            time.sleep(0.002)
"""

    def test_both_have_the_same_lines_of_a_run_that_other_processes_write_in_pieces(self):
        written = self.folder / "written"
        lines = [bubble(number, colour="red" if number % 2 else None) for number in range(2000)]
        writers = []
        (self.folder / "run").mkdir()
        for rank in range(4):
            path = self.write(f"written/rank{rank}.{rank}.jsonl", header(rank, 4), *lines, summary(rank))
            writers.append(subprocess.Popen([sys.executable, "-c", self.WRITER, str(path),
                                             str(self.folder / "run" / path.name), str(rank)]))
        found = [line for line in self.follow(self.folder / "run", kinds=["bubble"]) if line["type"] == "bubble"]
        self.assertEqual([writer.wait() for writer in writers], [0] * 4)
        expected = self.load(written).bubbles
        self.assertEqual(len(found), len(expected))
        for rank in range(4):
            self.assertEqual([(line["id"], line.get("colour")) for line in found if line["rank"] == rank],
                             [(row["id"], row["colour"]) for row in expected if row["rank"] == rank])


if __name__ == "__main__":
    unittest.main()
