#!/usr/bin/env python3
"""examples/pytorch/compare.py: what it reads, compares and ends. Needs neither PyTorch nor Weft.

Called by CTest: compare_test.py EXAMPLES.
"""
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, sys.argv.pop(1))
import compare  # noqa: E402

# A run that Weft fills as it should, as `weft summary --json` says it.
GOOD = {"idle_share": 0.3, "conversion": 0.8, "bubbles": 7, "fill_units": 3, "fill_units_wrong": 0, "dropped_records": 0}
HELD_UP = {"filling_stopped": True, "reason": "a slice of 300 us did not end within 23000 us"}

LOG = """weft: something that is not for us
pipeline.py 1f1b: 2 ranks on {device}, nccl; torch 2.11.0
iteration 1  loss 4.5 0x1.2p+2  norm 1.5  100.000 ms
iteration 2  loss 4.25 0x1.1p+2  norm 1.5  90.000 ms
iteration 3  loss 4.0 0x1.0p+2  norm 1.5  80.000 ms
iteration 4  loss 3.5 {last}  norm 1.5  {time} ms
iteration 5  loss 3.0 0x1.8p+1  norm 1.5  {time} ms
parameters {parameters}
"""


class Compare(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def log(self, last="0x1.cp+1", parameters="0x12", milliseconds="50.000", device="NVIDIA H200"):
        path = self.folder / "log"
        path.write_text(LOG.format(last=last, parameters=parameters, time=milliseconds, device=device), encoding="utf-8")
        return compare.read_log(path)

    def test_same_runs(self):
        result = compare.compare(self.log(), self.log(milliseconds="51.000"), None)
        self.assertTrue(result["losses_identical"] and result["parameters_identical"])
        self.assertEqual(result["iterations"], 5)
        self.assertFalse(result["simulated"])
        self.assertAlmostEqual(result["iteration_time_change"], 0.02)
        self.assertFalse(result["weft_active"])
        self.assertIsNone(result["idle_share"])

    def test_one_bit_more(self):
        self.assertFalse(compare.compare(self.log(), self.log(last="0x1.c000000000001p+1"), None)["losses_identical"])

    def test_numbers_of_a_simulated_gpu_are_not_compared(self):
        device = "Simulated GPU (not hardware)"
        result = compare.compare(self.log(device=device), self.log(last="0x1p+0", parameters="0x13", device=device), None)
        self.assertTrue(result["simulated"])
        self.assertIsNone(result["losses_identical"])
        self.assertIsNone(result["parameters_identical"])
        self.assertIn("mean nothing", compare.as_text(result))

    def test_other_parameters(self):
        result = compare.compare(self.log(), self.log(parameters="0x13"), None)
        self.assertTrue(result["losses_identical"])
        self.assertFalse(result["parameters_identical"])

    def test_runs_that_printed_nothing_are_not_the_same(self):
        path = self.folder / "empty"
        path.write_text("", encoding="utf-8")
        result = compare.compare(compare.read_log(path), compare.read_log(path), None)
        self.assertFalse(result["losses_identical"] or result["parameters_identical"])

    def test_numbers_of_the_summary(self):
        total = {"idle_share": 0.3, "conversion": 0.8, "bubbles": 7, "dropped_records": 0}
        result = compare.compare(self.log(), self.log(), {"ranks": [], "total": total, "notes": ["a note"]})
        self.assertEqual((result["idle_share"], result["conversion"], result["bubbles"]), (0.3, 0.8, 7))
        self.assertIn("a note", compare.as_text(result))

    def problems(self, expect, summary, profiled=None, device="NVIDIA H200", **log):
        result = compare.compare(self.log(device=device), self.log(device=device, **log), summary)
        if profiled is not None:
            result["profiled_kernels"] = profiled
        return compare.problems_of(result, expect)

    @staticmethod
    def summary(ranks=(), **changes):
        return {"ranks": list(ranks), "total": {**GOOD, **changes}, "notes": []}

    def test_all_is_well(self):
        for expect in compare.EXPECTATIONS:
            self.assertEqual(self.problems(expect, self.summary()), [])

    def test_weft_that_sleeps_is_a_problem_where_it_must_act(self):
        self.assertEqual(self.problems("nothing", None), [])
        for expect in ("filled", "active"):
            self.assertEqual(self.problems(expect, None), ["Weft was not active"])

    def test_a_run_without_bubbles_or_units_is_a_problem_where_it_is_to_be_filled(self):
        self.assertEqual(self.problems("active", self.summary(bubbles=0, fill_units=0)), [])
        self.assertEqual(self.problems("filled", self.summary(bubbles=0, fill_units=0)),
                         ["no bubble was found", "no unit of fill work was done"])
        self.assertEqual(self.problems("filled", self.summary(fill_units=0)), ["no unit of fill work was done"])

    def test_a_slice_that_was_held_up_by_other_ranks_excuses_that_nothing_was_filled(self):
        self.assertEqual(self.problems("filled", self.summary(ranks=[HELD_UP], fill_units=0)), [])
        other = {"filling_stopped": True, "reason": "a unit is wrong"}
        for ranks in ([other], [HELD_UP, other]):
            self.assertEqual(self.problems("filled", self.summary(ranks=ranks)), ["filling stopped: a unit is wrong"])

    def test_wrong_units_and_dropped_records_are_a_problem_everywhere(self):
        for expect in compare.EXPECTATIONS:
            self.assertEqual(self.problems(expect, self.summary(fill_units_wrong=2, dropped_records=1)),
                             ["2 units of fill work are wrong", "1 records were dropped"])

    def test_other_numbers_are_a_problem_everywhere(self):
        self.assertEqual(self.problems("nothing", None, last="0x1p+0", parameters="0x13"),
                         ["losses differ with Weft", "parameters differ with Weft"])

    def test_a_profile_without_kernels_is_a_problem_on_hardware(self):
        self.assertEqual(self.problems("filled", self.summary(), {"plain": 5, "weft": 5}), [])
        self.assertEqual(self.problems("filled", self.summary(), {"plain": 5, "weft": 0}),
                         ["the profiler saw no kernel in the run 'weft'"])
        # A simulated GPU has no CUPTI.
        self.assertEqual(self.problems("filled", self.summary(), {"plain": 0, "weft": 0}, device="Simulated GPU"), [])

    def test_counts_the_kernels_of_all_profiles(self):
        for rank in range(2):
            events = [{"cat": "kernel"}, {"cat": "cpu_op"}, {"name": "without a category"}]
            (self.folder / f"rank{rank}.json").write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
        self.assertEqual(compare.profiled_kernels(self.folder), 2)

    def test_a_run_over_its_limit_is_killed_with_its_children(self):
        child = self.folder / "child"
        with self.assertRaises(compare.Stopped):
            compare.run(["bash", "-c", f"sleep 1000 & echo $! > {child}; wait"], self.folder / "log", limit=1)
        process = int(child.read_text())
        for _ in range(500):  # killed, but perhaps not yet reaped by whoever has inherited it
            if not os.path.exists(f"/proc/{process}") or " Z " in pathlib.Path(f"/proc/{process}/stat").read_text():
                return
            time.sleep(0.01)
        self.fail("the child is still there")


if __name__ == "__main__":
    unittest.main()
