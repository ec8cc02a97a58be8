#!/usr/bin/env python3
"""weft.load(): tables, columns, filters; and which traces of a folder make the run."""
import copy
import os
import pickle
import subprocess
import sys
import unittest
import unittest.mock

import weft
from written_traces import BEGIN, SECOND, TraceTest, bubble, fill_slice, header, summary, values_of


class Tables(TraceTest):
    def test_a_table_for_each_kind_with_rank_process_and_segment_in_front(self):
        self.write_rank(0, 2, [bubble(), fill_slice()])
        self.write_rank(1, 2, [bubble(), bubble(2)])
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "rank"), [0, 1, 1])
        self.assertEqual(values_of(run.bubbles, "process"), [100, 101, 101])
        self.assertEqual(values_of(run.bubbles, "segment"), [0, 1, 1])
        self.assertEqual(list(run.bubbles[0])[:6], ["rank", "process", "segment", "time", "device", "id"])
        self.assertEqual(len(run.slices), 1)
        self.assertEqual((run.ranks, run.notes), ([0, 1], []))
        self.assertEqual(run.kinds, ["bubble", "header", "slice", "summary"])
        self.assertEqual(repr(run), "<weft.Run of 2 ranks: 3 bubble, 2 header, 1 slice, 2 summary>")
        self.assertEqual(run["bubble"], run.bubbles)

    def test_a_header_names_its_file_and_is_the_row_of_its_segment(self):
        path = self.write("rank0.100.jsonl", header(), bubble(), summary(), header(started=50), bubble(), summary())
        run = self.load()
        self.assertEqual(values_of(run.headers, "segment"), [0, 1])
        self.assertEqual(values_of(run.headers, "started"), [0, 50])
        self.assertEqual(run.headers[0]["file"], str(path))
        self.assertEqual(values_of(run.bubbles, "segment"), [0, 1])  # both have the id 1
        self.assertEqual(values_of(run.summaries, "segment"), [0, 1])

    def test_objects_become_columns_also_where_they_are_null(self):
        forecast = {"low": 1, "median": 2, "high": 3, "samples": 4}
        self.write_rank(lines=[bubble(forecast=forecast), bubble(2)])
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "forecast.median"), [2, None])
        self.assertNotIn("forecast", run.bubbles[0])
        self.assertEqual(run.summaries[0]["unfilled.no_room"], 1)
        self.assertIsNone(run.summaries[0]["unfilled.other"])
        self.assertIsNone(run.summaries[0]["startup.length"])

    def test_the_rank_in_a_communicator_is_not_that_of_the_training(self):
        line = {"type": "communicator", "time": 1, "device": 0, "event": "opened", "communicator": 1, "rank": 3,
                "ranks": 4, "id": None, "name": ""}
        self.write_rank(1, 2, [line])
        row = self.load().communicators[0]
        self.assertEqual((row["rank"], row["communicator_rank"], row["ranks"]), (1, 3, 4))

    def test_lines_of_a_newer_weft_keep_their_keys_and_kinds(self):
        new = {"type": "sparkle", "time": 7, "device": 0, "rank": 9, "where": {"row": 1, "deep": {"x": 2}}, "list": [1]}
        self.write_rank(lines=[bubble(), bubble(2, weight=0.5), new])
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "weight"), [None, 0.5])
        self.assertEqual(run["sparkle"], [{"rank": 0, "process": 100, "segment": 0, "time": 7, "device": 0,
                                           "sparkle_rank": 9, "list": [1], "where.row": 1, "where.deep": {"x": 2}}])
        self.assertIn("sparkle", run.kinds)

    def test_a_kind_without_lines_is_an_empty_table(self):
        self.write_rank()
        self.assertEqual(self.load().slices, [])

    def test_a_name_that_is_no_table_is_an_error(self):
        self.write_rank()
        run = self.load()
        with self.assertRaisesRegex(AttributeError, "no 'bubbels'"):
            run.bubbels
        with self.assertRaisesRegex(KeyError, "'sparkle' is no kind of line in these traces; there are .*bubble"):
            run["sparkle"]
        self.assertIn("bubbles", dir(run))

    def test_a_run_can_be_copied_and_pickled(self):
        self.write_rank(lines=[bubble()])
        run = self.load()
        for other in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
            self.assertEqual(other.bubbles, run.bubbles)

    def test_more_rows_than_are_packed_at_once_keep_their_order(self):
        self.write_rank(lines=[bubble(number) for number in range(1, 20_001)])
        self.assertEqual(values_of(self.load().bubbles, "id"), list(range(1, 20_001)))


class Filters(TraceTest):
    def setUp(self):
        super().setUp()
        for rank in range(3):
            self.write_rank(rank, 3, [bubble(), fill_slice()])

    def test_of_kinds(self):
        run = self.load(kinds=["bubble"])
        self.assertEqual(run.kinds, ["bubble", "header", "summary"])
        with self.assertRaisesRegex(AttributeError, r"'slice' was not loaded: kinds=\['bubble'\]"):
            run.slices

    def test_of_kinds_also_in_lines_that_weft_has_not_written(self):
        self.write("rank0.100.jsonl", header(0, 3), '{"device":0,"time":1,"type":"slice"}', bubble(), summary())
        self.assertEqual(self.load(kinds=["bubble"]).kinds, ["bubble", "header", "summary"])

    def test_that_name_no_kind_are_an_error(self):
        with self.assertRaisesRegex(ValueError, "'bubbles' is a table; its kind of line is 'bubble'"):
            self.load(kinds=["bubbles"])
        with self.assertRaisesRegex(ValueError, "'bubbel' is no kind of line that is known or in these traces"):
            self.load(kinds=["bubbel"])
        with self.assertRaises(TypeError):
            self.load(kinds="bubble")

    def test_of_ranks(self):
        run = self.load(ranks=[2, 0])
        self.assertEqual((run.ranks, values_of(run.bubbles, "rank"), run.notes), ([0, 2], [0, 2], []))

    def test_that_name_no_rank_are_an_error(self):
        with self.assertRaisesRegex(weft.TraceError, "no trace of rank 3, 9 in the run of .*, which has ranks 0 to 2"):
            self.load(ranks=[1, 9, 3])
        for ranks in ([], [-1], ["0"]):
            with self.assertRaisesRegex(ValueError, "a list of numbers from 0"):
                self.load(ranks=ranks)

    def test_frames_that_do_not_exist_are_an_error(self):
        with self.assertRaisesRegex(ValueError, "frames is 'dicts', 'pandas', 'polars' or None, not 'arrow'"):
            self.load(frames="arrow")


class NewestRun(TraceTest):
    def test_an_earlier_run_is_left_out(self):
        self.write_rank(0, 1, [bubble()], process=90, begin=BEGIN - 1000 * SECOND)
        self.write_rank(0, 1, [bubble(), bubble(2)])
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "process"), [100, 100])
        self.assert_note(run, "traces of earlier runs that are left out: 1")

    def test_a_rank_that_ran_at_another_time_belongs_to_the_run_if_the_job_is_as_large(self):
        self.write_rank(0, 2, begin=BEGIN - 1000 * SECOND)
        self.write_rank(1, 2)
        self.assertEqual(self.load().ranks, [0, 1])
        self.write_rank(0, 4, process=100, begin=BEGIN - 1000 * SECOND)
        run = self.load()
        self.assertEqual(run.ranks, [1])
        self.assert_note(run, "the job has 2 ranks; 1 left no trace here")

    def test_two_processes_that_took_one_rank_at_the_same_time_are_both_there(self):
        self.write_rank(0, 1, [bubble()], process=7)
        self.write_rank(0, 1, [bubble()], process=8)
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "process"), [7, 8])
        self.assertEqual(values_of(run.bubbles, "segment"), [0, 1])
        self.assert_note(run, "at the same time 2 processes were rank 0")

    def test_a_wall_clock_in_the_future_does_not_hide_the_other_traces(self):
        self.write_rank(0, 1, process=7, begin=BEGIN * 3)
        self.write_rank(0, 1, process=8)
        self.assertEqual(values_of(self.load().headers, "process"), [8])

    def test_a_file_that_two_names_lead_to_is_read_once(self):
        path = self.write_rank(0, 1, [bubble()])
        os.symlink(path, self.folder / "rank0.other.jsonl")
        self.assertEqual(len(self.load().bubbles), 1)
        self.assertEqual(len(self.load(self.folder, self.folder).bubbles), 1)

    def test_of_a_copy_the_trace_that_tells_more_is_taken(self):
        self.write("rank0.100.copy.jsonl", header())
        self.write_rank(0, 1, [bubble()])
        run = self.load()
        self.assertEqual(len(run.bubbles), 1)
        self.assert_note(run, "rank0.100.copy.jsonl is a copy of", "it is left out")

    def test_each_rank_may_have_a_folder_of_its_own(self):
        for rank in range(2):
            self.write(f"node{rank}/rank{rank}.1.jsonl", header(rank, 2, process=1, host=f"node{rank}"), summary(rank))
        self.assertEqual(self.load(self.folder / "node0", self.folder / "node1").ranks, [0, 1])

    def test_devices_of_a_process_are_traces_of_one_rank(self):
        self.write("rank0.1.jsonl", header(process=1), bubble(), summary())
        self.write("rank0.1.device1.jsonl", header(process=1, device=1), bubble(device=1), summary(device=1))
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "device"), [0, 1])
        self.assertEqual(run.notes, [])

    def test_of_lines_of_several_processes_in_a_file_those_of_the_last_one_count(self):
        self.write("rank0.1.jsonl", header(process=1), bubble(), summary(), header(process=2), bubble(2), summary())
        run = self.load()
        self.assertEqual(values_of(run.bubbles, "id"), [2])
        self.assertEqual(values_of(run.headers, "process"), [2])
        self.assert_note(run, "rank0.1.jsonl: the lines of earlier processes in this file are left out")

    def test_lines_of_version_1_are_read(self):
        self.write("rank0.1.jsonl", header(version=1), {"type": "forecast", "time": 1, "device": 0}, summary(version=1))
        self.assertEqual(len(self.load()["forecast"]), 1)

    def test_a_file_that_goes_while_it_is_loaded_is_named(self):
        path = self.write_rank(1, 2, [bubble()])
        self.write_rank(0, 2, [bubble()])
        newest_run = weft._load.newest_run

        def newest_run_and_gone(*arguments):
            files = newest_run(*arguments)
            path.unlink()
            return files

        with unittest.mock.patch("weft._load.newest_run", newest_run_and_gone):
            run = self.load()
        self.assertEqual(values_of(run.bubbles, "rank"), [0])
        self.assert_note(run, "rank1.101.jsonl could be read in part only", "No such file")

    def test_nothing_to_load_is_said(self):
        with self.assertRaisesRegex(weft.TraceError, "nowhere does not exist: mistyped, or no process"):
            self.load(self.folder / "nowhere")
        with self.assertRaisesRegex(weft.TraceError, "there are no traces .* in .*[^;]$"):
            self.load()
        self.write("run/trace/rank0.1.jsonl", header())
        with self.assertRaisesRegex(weft.TraceError, "no traces .*; below there are some in .*run/trace$"):
            self.load()
        with self.assertRaisesRegex(weft.TraceError, "rank0.1.jsonl is not a directory"):
            self.load(self.folder / "run/trace/rank0.1.jsonl")
        with self.assertRaisesRegex(ValueError, "no folder"):
            weft.load([])


class Import(unittest.TestCase):
    def test_the_package_imports_the_standard_library_only(self):
        """A training imports weft.annotate, and with it the package."""
        code = "import sys, weft; from weft import annotate; annotate.set_stage(1); print(*sys.modules)"
        found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
        self.assertIn("weft.annotate", found)
        self.assertEqual([name for name in found if name.split(".")[0] in ("pandas", "polars", "numpy")], [])


if __name__ == "__main__":
    unittest.main()
