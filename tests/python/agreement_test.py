#!/usr/bin/env python3
"""Numbers computed from weft.load() against those of `weft summary --json`, which reads the traces in C++:
agreement_test.py WEFT SOURCE"""
import collections
import json
import pathlib
import subprocess
import sys
import unittest

from written_traces import TraceTest, bubble, header

WEFT, SOURCE = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))


def median(values):
    """Of an even number the upper one of the two in the middle, as docs/trace.md says."""
    return sorted(values)[len(values) // 2] if values else None


def ratio(part, whole):
    return part / whole if whole else 0.0


def rows_by_rank(table):
    found = collections.defaultdict(list)
    for row in table:
        found[row["rank"]].append(row)
    return found


class Numbers:
    """Of each rank: from its summary lines where it has one for each header, else from its records."""

    def __init__(self, run):
        self._tables = {kind: rows_by_rank(run[kind]) for kind in run.kinds}
        self.ranks = run.ranks

    def rows(self, kind, rank):
        return self._tables.get(kind, {}).get(rank, [])

    def bubble_lengths(self, rank):
        return [row["closed"] - row["opened"] for row in self.rows("bubble", rank)]

    def total(self, rank, key, of_records):
        summaries = self.rows("summary", rank)
        return sum(row[key] or 0 for row in summaries) if summaries else of_records

    def window(self, rank):
        summaries = self.rows("summary", rank)
        return sum(row["window_end"] - row["window_begin"] for row in summaries) if summaries else None

    def of_rank(self, rank):
        idle = self.total(rank, "idle", sum(self.bubble_lengths(rank)))
        filled = self.total(rank, "filled", sum(row["alone"] for row in self.rows("slice", rank)))
        causes = collections.Counter()
        for row, length in zip(self.rows("bubble", rank), self.bubble_lengths(rank)):
            causes[row["cause"]] += length
        errors = [abs(row["forecast.median"] - length) / length
                  for row, length in zip(self.rows("bubble", rank), self.bubble_lengths(rank))
                  if row["forecast.median"] is not None and length > 0]
        numbers = {
            "bubbles": self.total(rank, "bubbles", len(self.rows("bubble", rank))),
            "slices": self.total(rank, "slices", len(self.rows("slice", rank))),
            "iterations": self.total(rank, "iterations", len(self.rows("iteration", rank))),
            "iteration_median": median([row["ended"] - row["started"] for row in self.rows("iteration", rank)]),
            "idle": idle, "filled": filled, "conversion": ratio(filled, idle),
            "idle_by_cause": dict(causes),
            "forecasts": len(errors), "forecast_error": median(errors)}
        if self.window(rank) is not None:
            window = self.window(rank) - self.total(rank, "dark", 0)
            numbers["window"] = window
            numbers["idle_share"] = ratio(idle, window)
        return numbers


class Agreement(TraceTest):
    def summary_of(self, folder):
        done = subprocess.run([WEFT, "summary", "--json", str(folder)], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def assert_same(self, found, expected, place):
        for key, value in found.items():
            if isinstance(value, float):
                self.assertAlmostEqual(value, expected[key], places=6, msg=f"{key} of {place}")
            else:
                self.assertEqual(value or 0, expected[key] or 0, f"{key} of {place}")

    def assert_agreement(self, folder):
        """Returns what the two have compared: the ranks of the summary."""
        run, expected = self.load(folder), self.summary_of(folder)
        self.assertEqual(run.ranks, sorted({rank["rank"] for rank in expected["ranks"]}))
        numbers = Numbers(run)
        for rank in expected["ranks"]:
            self.assert_same(numbers.of_rank(rank["rank"]), rank, f"rank {rank['rank']}")
        return expected["ranks"]

    def simulate(self, name, *arguments):
        folder = self.folder / name
        subprocess.run([WEFT, "simulate", "--output", str(folder), *arguments], check=True, stdout=subprocess.DEVNULL)
        return folder

    def test_on_recorded_traces_with_a_killed_rank_and_a_line_that_breaks_off(self):
        ranks = self.assert_agreement(SOURCE / "tests/trace/run")
        self.assertEqual([rank["complete"] for rank in ranks], [True, True, False])

    def test_on_four_filled_ranks(self):
        folder = self.simulate("filled", "--iterations", "12", "--fill", "40x250us")
        ranks = self.assert_agreement(folder)
        self.assertEqual(len(ranks), 4)
        for rank in ranks:
            self.assertGreater(rank["conversion"], 0.1)
            self.assertGreater(rank["forecasts"], 0)

    def test_on_64_observed_ranks(self):
        folder = self.simulate("observed", "--ranks", "64", "--stages", "16", "--iterations", "10", "--observe")
        self.assertEqual(len(self.assert_agreement(folder)), 64)

    def test_the_records_of_a_complete_trace_add_up_to_its_summary(self):
        run = self.load(self.simulate("records", "--iterations", "12", "--fill", "40x250us"))
        bubbles, slices = rows_by_rank(run.bubbles), rows_by_rank(run.slices)
        for row in run.summaries:
            rank = row["rank"]
            self.assertEqual(sum(one["closed"] - one["opened"] for one in bubbles[rank]), row["idle"])
            self.assertEqual(sum(one["alone"] for one in slices[rank]), row["filled"])

    def test_both_take_the_same_traces_of_a_folder_with_several_runs(self):
        self.simulate("", "--iterations", "10", "--observe")
        second = 10**9
        for process, begin in ((90, 1), (91, 2)):  # long ago
            self.write(f"rank0.{process}.jsonl", header(0, 4, process, begin=begin * second), bubble())
        path = self.folder / "rank2.3.jsonl"
        path.write_bytes(path.read_bytes()[:-100])
        run, expected = self.load(), self.summary_of(self.folder)
        self.assertEqual([row["process"] for row in run.headers], [rank["process"] for rank in expected["ranks"]])
        self.assertEqual([row["rank"] for row in run.summaries],
                         [rank["rank"] for rank in expected["ranks"] if rank["complete"]])
        self.assert_note(run, "earlier runs that are left out: 2")


if __name__ == "__main__":
    unittest.main()
