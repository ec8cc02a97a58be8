#!/usr/bin/env python3
"""The arithmetic of intervals and the table of bench/jobs: table_test.py FOLDER, with the folder that holds them."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import cell  # noqa: E402
import intervals  # noqa: E402
import jobs  # noqa: E402
import table  # noqa: E402


class Intervals(unittest.TestCase):
    def test_united_sorts_joins_and_drops_empty_ones(self):
        self.assertEqual(intervals.united([(5, 7), (1, 3), (3, 4), (6, 6), (6, 9)]), [(1, 4), (5, 9)])

    def test_intersection(self):
        self.assertEqual(intervals.intersection([(0, 10), (20, 30)], [(5, 25), (29, 40)]), [(5, 10), (20, 25), (29, 30)])
        self.assertEqual(intervals.intersection([(0, 10)], [(10, 20)]), [])
        self.assertEqual(intervals.intersection([], [(10, 20)]), [])

    def test_difference(self):
        self.assertEqual(intervals.difference([(0, 10), (20, 30)], [(5, 25), (27, 40)]), [(0, 5), (10, 20), (25, 27), (30, 40)])
        self.assertEqual(intervals.difference([(0, 10)], [(0, 10)]), [])
        self.assertEqual(intervals.difference([(0, 10)], [(10, 20)]), [(0, 20)])

    def test_compare_counts_in_the_window_only(self):
        found = intervals.compare([(0, 30), (60, 70)], [(20, 40), (60, 70), (95, 200)], [(40, 45)], (10, 100))
        self.assertAlmostEqual(found["idle"], 30 / 90)
        self.assertAlmostEqual(found["true"], 35 / 90)
        self.assertAlmostEqual(found["uncertain"], 5 / 90)
        self.assertAlmostEqual(found["coverage"], 20 / 35)
        self.assertAlmostEqual(found["accounted"], 20 / 35)
        self.assertAlmostEqual(found["precision"], 20 / 30)

    def test_compare_without_idle_time(self):
        found = intervals.compare([], [], [], (0, 100))
        self.assertEqual((found["idle"], found["true"], found["coverage"], found["precision"]), (0, 0, None, None))
        self.assertEqual(intervals.compare([], [(0, 50)], [], (0, 100))["coverage"], 0)
        self.assertEqual(intervals.compare([], [(0, 50)], [(0, 50)], (0, 100))["accounted"], 1)
        self.assertEqual(intervals.compare([(0, 50)], [], [], (0, 100))["precision"], 0)


def rank(**changed) -> dict:
    return {"idle": 0.3, "true": 0.3, "coverage": 0.99, "precision": 1.0, "uncertain": 0.0, "iterations": 8, "idle_unknown": "",
            "later_coverage": 0.995, "later_precision": 1.0, "accounted": 1.0, "between_looks": 0.002, "late": 0.001, "uncertain_reason": "",
            "coverage_by_model": 0.9, "precision_by_model": 0.8, "window": 1000, "conversion": 0.0, "filling_stopped": "", **changed}


def one_cell(*ranks, **changed) -> dict:
    return {"row": "some-job", "queues": 8, "mode": "observe", "ranks": list(ranks), "iterations_real": 8, "rc": 0, "state": "ok",
            "losses_identical": None, "time_scale": 4.0, "version": "abc", **changed}


class Table(unittest.TestCase):
    def test_bounds(self):
        self.assertEqual(table.misses(one_cell(rank(), rank(idle=0.3049))), [])  # 2 % of 30 % is more than half a point
        self.assertEqual(table.misses(one_cell(rank(), rank(idle=0.307))), ["idle"])
        self.assertEqual(table.misses(one_cell(rank(idle=0.004, true=0.0))), [])
        self.assertEqual(table.misses(one_cell(rank(coverage=0.97), rank(precision=0.0))), ["coverage", "precision"])
        self.assertEqual(table.misses(one_cell(rank(later_coverage=0.5))), ["later coverage"])
        self.assertEqual(table.misses(one_cell(rank(idle=0.004, true=0.003, precision=0.6))), [])
        self.assertEqual(table.misses(one_cell(rank(idle=0.02, true=0.0, precision=0.0))), ["precision", "idle"])
        self.assertEqual(table.misses(one_cell(rank(coverage=None, precision=None))), [])
        self.assertEqual(table.misses(one_cell(rank(iterations=5), losses_identical=False)), ["iterations", "losses"])
        self.assertEqual(table.misses(one_cell(rank(iterations=9))), ["iterations"])
        self.assertEqual(table.misses(one_cell(rank(), rank(late=0.01))), ["late"])

    def test_uncertain_time_excuses_idle_time_that_is_missing_if_its_cause_is_named(self):
        blind = rank(idle=0.0, coverage=0.0, later_coverage=0.0, uncertain=0.31, uncertain_reason="one hardware queue: and so on")
        self.assertEqual(table.misses(one_cell(rank(), blind)), ["one hardware queue"])
        self.assertEqual(table.misses(one_cell({**blind, "precision": 0.5})), ["precision", "one hardware queue"])
        self.assertEqual(table.misses(one_cell({**blind, "accounted": 0.9})), ["coverage", "later coverage", "idle"])
        self.assertEqual(table.misses(one_cell({**blind, "uncertain": 0.009})), ["coverage", "later coverage", "idle"])

    def test_only_the_causes_of_the_closed_list_excuse(self):
        blind = rank(idle=0.0, coverage=0.0, later_coverage=0.0, uncertain=0.31)
        for cause in ("one hardware queue", "captured step", "host wait outside CUDA"):
            self.assertEqual(table.misses(one_cell({**blind, "uncertain_reason": f"{cause}: and so on"})), [cause])
        other = {**blind, "uncertain_reason": "a stream waits for something that is not known"}
        self.assertEqual(table.misses(one_cell(other)), ["coverage", "later coverage", "idle", "uncertain"])
        self.assertEqual(table.misses(one_cell(rank(uncertain=0.02, uncertain_reason="waiting graph: x"))), ["uncertain"])
        self.assertEqual(table.misses(one_cell(rank(uncertain=0.009, uncertain_reason="waiting graph: x"))), [])
        # No excuse hides another cause beside it, on the same rank or on another one.
        mixed = {"one hardware queue: x": 0.29, "waiting graph: x": 0.02}
        self.assertEqual(table.misses(one_cell({**blind, "uncertain_by_cause": mixed})),
                         ["coverage", "later coverage", "idle", "uncertain"])
        few = {"one hardware queue: x": 0.305, "waiting graph: x": 0.003, "a stream waits: x": 0.002}
        self.assertEqual(table.misses(one_cell({**blind, "uncertain_by_cause": few})), ["one hardware queue"])
        excused = {**blind, "uncertain_reason": "one hardware queue: x"}
        self.assertIn("uncertain", table.misses(one_cell(excused, rank(uncertain=0.02, uncertain_reason="waiting graph: x"))))

    def test_filled(self):
        fill = lambda *ranks: one_cell(*ranks, mode="fill")
        self.assertEqual(table.filled(one_cell(rank(conversion=0.5))), "")
        self.assertEqual(table.filled(fill(rank(conversion=0.5), rank(idle=0.1, conversion=0.1))), "40.0")
        self.assertEqual(table.filled(fill(rank(conversion=0.002), rank(conversion=None, idle=0.0))), "0.2")
        self.assertEqual(table.filled(fill(rank(), rank())), "nothing")
        stopped = rank(filling_stopped="too many streams (9 streams): set more")
        self.assertEqual(table.filled(fill(rank(conversion=0.5), stopped)), "25.0, stopped")
        self.assertEqual(table.filled(fill()), "")
        self.assertIn(" | 8 of 8 | 50.0 |  | 0 |  | abc |", table.line(fill(rank(conversion=0.5))))

    def test_cells_in_which_nothing_was_filled_are_named_with_the_reason(self):
        stopped = rank(filling_stopped="uses 9 streams, and has 8: set more")
        cells = [one_cell(rank(), mode="fill", queues=1, row="a"), one_cell(rank(conversion=0.4), mode="fill", row="b"),
                 one_cell(stopped, mode="fill", row="c"), one_cell(rank(), row="d")]
        text = table.nothing_filled(cells)
        self.assertEqual(text, "Nothing filled, 2 of 3 cells with fill:\n\n"
                               "- filling was on and no bubble was filled, 1 queue: a.\n"
                               "- uses n streams, and has 8, 8 queues: c.\n")
        self.assertIn(text, table.as_markdown(cells))
        self.assertEqual(table.nothing_filled(cells[1:2]), "")
        told = rank(unfilled={"no_forecast": 9, "one_queue": 5, "no_room": 1})
        self.assertIn("- filling was on and no bubble was filled (mostly `one_queue`), 1 queue: e.\n",
                      table.nothing_filled([one_cell(told, told, mode="fill", queues=1, row="e")]))
        self.assertNotIn("mostly", table.nothing_filled([one_cell(rank(unfilled={"one_queue": 0}), mode="fill")]))

    def test_versions(self):
        self.assertEqual(table.versions([one_cell(), one_cell(version="def"), one_cell()]),
                         "2 versions: abc (2 cells), def (1 cell).")

    def test_who_waits_stands_in_place_of_what_is_resident(self):
        held_up = rank(precision=0.95, idle=0.32, by_waits=dict(true=0.32, precision=0.99))
        self.assertEqual(table.misses(one_cell(rank(by_waits={}), held_up)), ["by waits"])
        self.assertEqual(table.misses(one_cell(rank(), held_up)), ["precision", "idle"])  # one rank does not tell
        self.assertEqual(table.misses(one_cell({**held_up, "by_waits": dict(precision=0.97)})), ["precision", "idle"])
        self.assertIn(" 0.900 0.800 | 0.985 0.990 | 8 of 8 ", table.line(one_cell(rank(by_waits=dict(coverage=0.985)), held_up)))

    def test_line(self):
        self.assertEqual(table.line(one_cell(rank(), rank(idle=0.1, true=0.1, coverage=0.985, uncertain=0.02, iterations=7))),
                         "| some-job | 8 | observe | 4 | 30.0 10.0 | 30.0 10.0 | 0.985 | 1.000 | 0.995 | 1.000 | 2.0 | 1.000 | 0.2 | 0.1 | 0.900 0.800 "
                         "|  | 7-8 of 8 |  |  | 0 | uncertain | abc |")
        self.assertEqual(table.line(one_cell(rc="not over", state="plain program not over in time")),
                         "| some-job | 8 | observe | 4 |" + 15 * "  |" + " plain program not over in time |  | abc |")

    def test_a_page_keeps_what_stands_around_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
            for _ in range(2):
                table.write([one_cell(rank())], page)
            text = page.read_text()
            self.assertTrue(text.startswith("before\n") and text.endswith(f"\n{table.END}\nafter\n"), text)
            self.assertEqual((text.count("some-job"), text.count("old")), (1, 0))


class Cells(unittest.TestCase):
    def test_who_is_to_blame(self):
        self.assertEqual(cell.state(0, None, 2, 2), "ok")
        self.assertEqual(cell.state(0, None, 1, 2), "1 of 2 ranks have a trace")
        self.assertEqual(cell.state(cell.NOT_OVER, cell.NOT_OVER, 2, 2), "plain program not over in time")
        self.assertEqual(cell.state(cell.NOT_OVER, 1, 0, 2), "plain program fails (1)")
        self.assertEqual(cell.state(cell.NOT_OVER, 0, 0, 2), "not over in time with Weft")
        self.assertEqual(cell.state(3, 0, 2, 2), "fails with Weft (3)")

    def test_rows_by_name(self):
        self.assertEqual(jobs.rows_named(None), jobs.ROWS)
        self.assertEqual([row.name for row in jobs.rows_named("item,trainer-1f1b-*,item")],
                         ["item", "trainer-1f1b-event", "trainer-1f1b-in-stream", "trainer-1f1b-host"])
        with self.assertRaises(SystemExit):
            jobs.rows_named("nonsense")
        self.assertEqual(len({row.name for row in jobs.ROWS}), len(jobs.ROWS))


if __name__ == "__main__":
    unittest.main()
