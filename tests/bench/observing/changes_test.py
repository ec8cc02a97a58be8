#!/usr/bin/env python3
"""The arithmetic of observing_cost.py and its table: changes_test.py FOLDER. Called by CTest; no GPU."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import changes  # noqa: E402


def round_of(on: float, off: float = 100.0) -> dict:
    return {"on": [on, on + 2, on - 2], "off": [off, off, off]}


def row(name: str, rounds: list[dict]) -> dict:
    return {"row": name, "cpus": 2, "groups": 10, "runs": [{"load_before": 0.5, "load_after": 1.5, "rounds": rounds}]}


class Changes(unittest.TestCase):
    def test_blocks_become_rounds_whatever_their_order(self):
        blocks = [{"on": on, "milliseconds": [time]} for on, time in
                  ((True, 1), (False, 2), (False, 3), (True, 4), (False, 5), (True, 6), (True, 7), (False, 8))]
        self.assertEqual(changes.rounds_of(blocks, 4), [{"on": [1, 4], "off": [2, 3]}, {"on": [6, 7], "off": [5, 8]}])

    def test_mean_and_standard_error_are_of_the_rounds(self):
        mean, error = changes.of_means([round_of(101), round_of(103), round_of(102)])
        self.assertAlmostEqual(mean, 0.02)
        self.assertAlmostEqual(error, 0.01 / 3 ** 0.5)

    def test_one_long_iteration_is_in_the_mean_and_not_in_the_median(self):
        rounds = [{"on": [100, 100, 130], "off": [100, 100, 100]}, round_of(100)]
        self.assertAlmostEqual(changes.of_means(rounds)[0], 0.05)
        self.assertAlmostEqual(changes.of_medians(rounds)[0], 0.0)

    def test_few_rounds_are_never_enough(self):
        same = [round_of(100)] * (changes.LEAST_ROUNDS - 1)
        self.assertFalse(changes.is_enough(same, 0.0003))
        self.assertTrue(changes.is_enough([*same, round_of(100)], 0.0003))
        self.assertFalse(changes.is_enough([*same, round_of(110)], 0.0003))
        self.assertFalse(changes.is_enough([], 0.0003))

    def test_the_table_says_what_was_not_reached(self):
        text = changes.table([row("control", [round_of(100)] * changes.LEAST_ROUNDS), row("5us", [round_of(100), round_of(104)])], 0.0003)
        control, written = text.splitlines()[2:]
        self.assertIn(f"| control | 100.00 | {changes.LEAST_ROUNDS} | +0.000 ± 0.000 | +0.000 ± 0.000 | +0.0 | 0.5 to 1.5 on 2 CPUs | reached |", control)
        self.assertIn("| 5us | 100.00 | 2 | +2.000 ± 2.000 | +2.000 ± 2.000 | +200.0 |", written)
        self.assertIn("| not reached |", written)
        self.assertIn("| - | - | - |", changes.table([row("0us", [round_of(100)])], 0.0003))

    def test_a_page_keeps_all_but_the_old_table(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("before\n\n" + changes.table([row("5us", [round_of(100)])], 0.0003) + "\nafter\n")
            changes.write(page, changes.table([row("1us", [round_of(100)])], 0.0003))
            lines = page.read_text().splitlines()
            self.assertEqual((lines[:3], lines[-2:], len(lines)), (["before", "", changes.HEAD], ["", "after"], 7))
            self.assertTrue(lines[4].startswith("| 1us |"))


if __name__ == "__main__":
    unittest.main()
