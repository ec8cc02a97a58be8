#!/usr/bin/env python3
"""The examples of docs/python.md, run one after the other on a simulated run, and their numbers against those of
`weft summary --json`: examples_test.py WEFT SOURCE. Exit code 77 where pandas is not installed."""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

WEFT, SOURCE = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1)).resolve()


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        before = os.getcwd()
        cls.addClassCleanup(os.chdir, before)
        os.chdir(folder.name)
        os.environ["PATH"] = f"{pathlib.Path(WEFT).parent}:{os.environ['PATH']}"  # for align=True
        subprocess.run([WEFT, "simulate", "--iterations", "12", "--fill", "40x250us", "--output", "weft-12345"],
                       check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([WEFT, "summary", "--json", "weft-12345"], check=True, capture_output=True, text=True)
        cls.ranks = json.loads(done.stdout)["ranks"]
        page = (SOURCE / "docs/python.md").read_text(encoding="utf-8")
        cls.names, said = {}, io.StringIO()
        with contextlib.redirect_stdout(said):
            for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
                exec(code, cls.names)
        cls.said = said.getvalue()

    def assert_like_summary(self, series, key):
        for rank in self.ranks:
            self.assertAlmostEqual(series[rank["rank"]], rank[key], places=6)

    def test_idle_share(self):
        self.assert_like_summary(self.names["idle_share"], "idle_share")
        for rank in self.ranks:
            for cause, idle in rank["idle_by_cause"].items():
                self.assertAlmostEqual(self.names["idle_by_cause"].loc[rank["rank"], cause], idle / 1e9)

    def test_forecast_error(self):
        self.assertEqual(len(self.names["forecast_error"]), len(self.ranks))
        for rank in self.ranks:  # of an even number pandas takes the mean of the two in the middle
            self.assertAlmostEqual(self.names["forecast_error"][rank["rank"]], rank["forecast_error"], delta=0.05)

    def test_slowest_rank_is_the_one_that_is_idle_least(self):
        self.assertEqual(self.names["slowest"], min(self.ranks, key=lambda rank: rank["idle_share"])["rank"])

    def test_every_slice_is_in_a_bubble(self):
        self.assertEqual(self.names["filled"]["slices"].sum(), sum(rank["slices"] for rank in self.ranks))
        self.assertEqual(self.names["slices_per_bubble"]["count"].sum(), sum(rank["bubbles"] for rank in self.ranks))

    def test_following_prints_every_bubble(self):
        lines = self.said.splitlines()
        self.assertRegex(lines[0], "<weft.Run of 4 ranks: ")
        printed = [line for line in lines if line.endswith(" ms")]
        self.assertEqual(len(printed), sum(rank["bubbles"] for rank in self.ranks))


if __name__ == "__main__":
    if importlib.util.find_spec("pandas") is None:
        print("skipped: pandas is not installed")
        sys.exit(77)
    unittest.main()
