"""Traces for the tests of this folder, written line by line as Weft writes them."""
import json
import pathlib
import shutil
import tempfile
import unittest
import warnings

import weft

SECOND = 10**9
BEGIN = 1_700_000_000 * SECOND  # since 1970


def header(rank=0, ranks=1, process=None, begin=BEGIN, **others):
    process = 100 + rank if process is None else process
    return {"type": "header", "format": "weft-trace", "version": 2, "rank": rank, "ranks": ranks, "device": 0,
            "mode": "fill", "host": "node", "process": process, "start_id": begin + process, "started": 0,
            "wall_clock": begin, "boot": "b", **others}


def bubble(number=1, opened=1000, closed=3000, **others):
    return {"type": "bubble", "time": closed, "device": 0, "id": number, "opened": opened, "closed": closed,
            "cause": "receive", "pattern": "event_wait", "rhythm": None, "forecast": None, "left_out": False, **others}


def fill_slice(number=1, **others):
    return {"type": "slice", "time": 2000, "device": 0, "job": 0, "unit": 0, "slice": number, "bubble": 1,
            "launched": 1000, "finished": 2000, "alone": 900, "unit_done": False, "correct": None, **others}


def summary(rank=0, end=10_000, **others):
    return {"type": "summary", "rank": rank, "device": 0, "window_begin": 0, "window_end": end, "idle": 2000,
            "unfilled": {"no_room": 1}, "slowdown": None, "startup": None, **others}


def text_of(*lines):
    """Objects as JSON, texts as they are; a line break behind each."""
    return "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)


class TraceTest(unittest.TestCase):
    """With a folder of its own for traces."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, *lines, more=""):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(*lines) + more, encoding="utf-8")
        return path

    def write_rank(self, rank=0, ranks=1, lines=(), **of_header):
        lines = [header(rank, ranks, **of_header), *lines, summary(rank)]
        return self.write(f"rank{rank}.{lines[0]['process']}.jsonl", *lines)

    def load(self, *folders, **wanted):
        """With lists of dicts; the notes are in the run."""
        wanted.setdefault("frames", "dicts")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = weft.load(list(folders) or self.folder, **wanted)
        caught = [warning for warning in caught if warning.category is weft.TraceWarning]
        self.assertEqual([str(warning.message) for warning in caught], run.notes)
        self.assertLessEqual({warning.filename for warning in caught}, {__file__})  # the caller's line
        return run

    def assert_note(self, run, *parts):
        self.assertTrue(any(all(part in note for part in parts) for note in run.notes), (parts, run.notes))


def values_of(table, column):
    return [row[column] for row in table]
