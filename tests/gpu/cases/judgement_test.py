#!/usr/bin/env python3
"""How run_case.py and run_ranks.py judge what they have measured. No GPU, no program.

Run by CTest (label unit).
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "bench/gpu/measures")]
import ranks  # noqa: E402
import run_case  # noqa: E402
import run_ranks  # noqa: E402

TOO_LONG = "a slice of 300 us did not end within 23000 us"
# The values of one stage that computes, when all is well.
GOOD = {"traces": 1, "identical": True, "learns": True, "bubbles": 10, "units": 5, "units_wrong": 0, "dropped_records": 0, "stopped": [],
        "hazards": 0}


class Memory(unittest.TestCase):
    def test_what_changes_until_the_rhythm_is_known_is_no_change(self):
        # The process that tried the fill job has said that it is done; its context still goes.
        self.assertEqual(run_case.memory_changes([70, 80, 80, 80, 80, 80, 80, 80]), 0)

    def test_what_changes_later_is_one(self):
        self.assertEqual(run_case.memory_changes([80] * (run_case.LEARNING + 3) + [79]), 1)
        self.assertEqual(run_case.memory_changes([80] * (run_case.LEARNING + 3) + [79, 80, 78]), 2)


class Ranks(unittest.TestCase):
    def wrong(self, bed, **changes):
        return run_ranks.what_does_not_hold({**GOOD, **changes}, 1, bed)

    def test_one_stage_under_mps_must_go_on_filling(self):
        bed = run_ranks.TestBed(simulated=False, stage=1, mps=True)
        self.assertEqual(self.wrong(bed), [])
        self.assertEqual(self.wrong(bed, stopped=[TOO_LONG]), [f"filling stopped: {TOO_LONG}"])

    def test_where_ranks_take_turns_a_slice_may_wait_through_those_of_others(self):
        for stage in (1, None):
            bed = run_ranks.TestBed(simulated=False, stage=stage, mps=False)
            self.assertEqual(self.wrong(bed, stopped=[TOO_LONG]), [])
            self.assertEqual(self.wrong(bed, stopped=[TOO_LONG], units=0), [])
            self.assertEqual(self.wrong(bed, stopped=[TOO_LONG], identical=False), ["losses or norms differ with Weft"])
            self.assertEqual(self.wrong(bed, units=0), ["no unit of fill work was done"])

    def test_filling_that_stopped_for_another_reason_is_wrong_everywhere(self):
        for simulated, mps in ((True, False), (False, True), (False, False)):
            bed = run_ranks.TestBed(simulated=simulated, stage=1, mps=mps)
            self.assertEqual(self.wrong(bed, stopped=["a unit is wrong", TOO_LONG])[0].split(":")[0], "filling stopped")

    def test_a_fill_job_that_could_not_be_set_up_is_no_slice_that_was_held_up(self):
        bed = run_ranks.TestBed(simulated=False, stage=1, mps=False)
        reason = "work of the fill job did not end within 5 s"
        self.assertEqual(self.wrong(bed, stopped=[reason], units=0), ["no unit of fill work was done", f"filling stopped: {reason}"])

    def test_where_all_ranks_compute_they_hold_slices_up_under_mps_too(self):
        self.assertEqual(self.wrong(run_ranks.TestBed(simulated=False, stage=None, mps=True), stopped=[TOO_LONG]), [])

    def test_a_stop_is_told_to_the_reader(self):
        bed = run_ranks.TestBed(simulated=False, stage=1, mps=False)
        self.assertEqual(run_ranks.notes_of({**GOOD, "stopped": [TOO_LONG]}, bed),
                         ["one stage computes, its peers sleep; all ranks on one GPU, in turns", f"filling stopped: {TOO_LONG}"])

    def test_large_messages_are_spread_over_sockets_in_cases_and_measures(self):
        # Each has all that ranks on one GPU need, from one list.
        self.assertIs(run_ranks.SHARED_GPU, ranks.SHARED_GPU)
        found = ranks.environment_of(0, 4, True, os.curdir)
        self.assertGreater(int(found["NCCL_SOCKET_NTHREADS"]) * int(found["NCCL_NSOCKS_PERTHREAD"]), 1)


if __name__ == "__main__":
    unittest.main()
