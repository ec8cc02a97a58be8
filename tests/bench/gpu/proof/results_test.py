"""Tests of the harness behind scripts/gpu-proof: result files, the page, constants, and the numbers of runs."""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

from support import SOURCE, TemporaryFolder, results_of  # it also makes the modules of bench/gpu known

from proof import behaviours, constants, decisions, files, page, results, run
import numbers_of_runs
import recovery
import truth


class Files(TemporaryFolder):
    def test_results_are_whole_after_each_step(self):
        seen = []
        good = self.script("pass", "good.py")
        chosen = [run.Step(str(number), good, 30) for number in range(3)]
        run.run_all(chosen, 100, dict(os.environ), self.folder, after_each=lambda entries: seen.append([entry["name"] for entry in entries]))
        self.assertEqual(seen, [["0"], ["0", "1"], ["0", "1", "2"]])
        for number in range(2):
            written = files.write_results(self.folder / "2026-11-21-h200", {"number": number}, f"page {number}")
        self.assertEqual((written.name, written.read_text()), ("2026-11-21-h200.md", "page 1"))
        self.assertEqual(json.loads(written.with_suffix(".json").read_text()), {"number": 1})

    def test_logs_are_one_file_and_traces_come_behind_them_as_far_as_there_is_room(self):
        (self.folder / "work/logs").mkdir(parents=True)
        (self.folder / "work/logs/one.err").write_text("why")
        (self.folder / "work/a.jsonl").write_bytes(os.urandom(files.MOST_BYTES_PACKED))
        (self.folder / "work/b.jsonl").write_bytes(os.urandom(files.MOST_BYTES_PACKED + 1))
        (self.folder / "work/rank0.jsonl").write_text("trace")
        archive = self.folder / "logs.tar.gz"
        files.pack_logs(self.folder / "work", archive)
        with tarfile.open(archive) as packed:
            self.assertEqual(packed.getnames(), ["logs/one.err", "rank0.jsonl", "a.jsonl"])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["logs.tar.gz", "work"])


class Results(unittest.TestCase):
    def test_the_name_holds_date_gpu_and_commit(self):
        self.assertEqual(results.stem(results_of()), "2026-11-21-h200-0123456789ab")

    def test_nothing_names_the_machine(self):
        entry = {"command": ["/a/weft/build/bin/weft", "/b/work/logs/x"], "output": {"ranks": [{"host": "secret", "rank": 1}]}}
        self.assertEqual(results.shown([entry], {"/a/weft/": "", "/b/work": "WORK"}),
                         [{"command": ["build/bin/weft", "WORK/logs/x"], "output": {"ranks": [{"rank": 1}]}}])

    def test_measured_constants_are_those_that_a_probe_reports(self):
        self.assertEqual(results_of()["simulator_constants"], {"launch_latency": {"value": 2100, "unit": "ns", "probe": "command_times"}})

    def test_a_simulated_run_measures_no_constant(self):
        self.assertEqual(results_of(simulated=True)["simulator_constants"], {})

    def test_the_simulator_takes_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "2026-11-21-h200-0123456789ab.json"
            path.write_text(json.dumps(results_of()))
            done = subprocess.run([sys.executable, SOURCE / "sim/constants.py", "--results", folder, "--header",
                                   pathlib.Path(folder) / "constants.h"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60, check=True)
            self.assertIn("1 constants from 2026-11-21-h200", done.stderr)


    def test_an_earlier_run_is_added_where_it_belongs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "earlier.json"
            earlier = results_of()
            earlier["steps"].append({"name": "probe.late", "feeds": "probe", "status": "not run", "reason": "out of time", "seconds": 0.0})
            path.write_text(json.dumps(earlier))
            now = [{"name": "probe.broken", "status": "passed"}, {"name": "probe.late", "status": "passed"},
                   {"name": "probe.command_times", "status": "not run"}]
            entries = results.joined(results.earlier_entries(path, earlier["environment"]), now)
            ended = {entry["name"]: entry["status"] for entry in entries}
            self.assertEqual(len(ended), len(entries))
            self.assertEqual([ended[entry["name"]] for entry in now], ["passed"] * 3)
            self.assertEqual(ended["case.event"], "passed")
            self.assertFalse([entry for entry in entries if "commit" in entry])
            of_another = results.earlier_entries(path, dict(earlier["environment"], bundle_commit="another"))
            self.assertEqual({entry["commit"] for entry in of_another}, {earlier["environment"]["bundle_commit"] or earlier["environment"]["commit"]})
            with self.assertRaisesRegex(ValueError, "other devices"):
                results.earlier_entries(path, dict(earlier["environment"], devices=[]))


class Page(unittest.TestCase):
    def test_every_measure_has_its_line_also_when_nothing_is_known(self):
        empty = dict(results_of(), probes={}, cases={}, pytorch={}, measures={}, simulator_constants={}, steps=[])
        text = page.render(empty, constants.load(SOURCE))
        for measure in ("slowdown, mean", "slowdown, worst", "overhead with fill off", "coverage", "precision", "report error",
                        "detection latency, p50", "yield latency, p50", "yield latency, p99", "forecast error", "iterations to recover"):
            self.assertRegex(text, rf"\| {measure}[^|]*\| not measured \|")

    def test_the_numbers_of_the_fixture_are_there(self):
        text = page.render(results_of(), constants.load(SOURCE))
        for expected in ("| slowdown, worst schedule | 0.60 % |", "| detection latency, p50 | 18.0 us |", "0.40 % (0.10 to 0.70, 5 runs)",
                         "| baseline | low priority stream | 190.0 % (180.0 to 200.0, 5 runs) | 48.00 % (40.00 to 56.00, 5 runs) |",
                         "Not measured: mps (MPS cannot be started).", "- **command_times**: A launch takes 2.1 us.",
                         "| launch_latency | 3000 ns | 2100 ns | 0.70 | command_times |", "| iterations to recover after a change | 2 |",
                         "| probe.broken | timed out | 20.0 s | stopped after 20 s. a \\| b |", "On hardware: 1 x NVIDIA H200.",
                         "| conversion, bubbles of 20 ms and more | at least 80 % | 79.0 % | NO |", "| fill on: slowdown | at most 0.5 % | 0.30 % (0.10 to 0.50, 5 runs) | yes |",
                         "| losses bit-identical, PyTorch's too | all | 2 of 2 | yes |", "| no hang | 0 | 2 | NO |", "| 280.0 us, 299.0 us |",
                         "Test bed: stage 1 of 4 computes, its peers sleep; on one GPU, under MPS.", "- frontier: slice-3ms: stopped after 60 s"):
            self.assertIn(expected, text)

    def test_a_change_between_runs_that_were_made_once_reaches_no_goal_and_misses_none(self):
        result = results_of()
        for values in result["measures"]["training"]["values"]["schedules"].values():
            values["slowdown_of_medians"] = {"mean": 0.17, "low": None, "high": None, "repeats": 1}
        self.assertIn("| fill on: slowdown | at most 0.5 % | 17.00 % (1 run, no interval) | not known: made once |", page.render(result, constants.load(SOURCE)))

    def test_what_a_case_notes_is_shown(self):
        cases = {"ranks-stage-1": {"holds": True, "notes": ["in turns", "filling stopped: a slice did not end"], "values": {"units": 3}}}
        self.assertIn("| ranks-stage-1 | yes | in turns; filling stopped: a slice did not end | units 3 |",
                      page.render(dict(results_of(), cases=cases), []))

    def test_a_sanitizer_that_had_no_time_has_found_nothing_and_cleared_nothing(self):
        self.assertIn("| no sanitizer report | none | 3 of 4 programs clean, 1 out of time | not measured |", page.render(results_of(), []))
        reported = dict(results_of(), cases={"memcheck": {"values": {"kernels": "report", "weft": "out of time"}}})
        self.assertIn("| no sanitizer report | none | 0 of 2 programs clean, 1 out of time, 1 report | NO |", page.render(reported, []))

    def test_a_simulated_run_says_so_at_the_top(self):
        head = page.render(results_of(simulated=True), []).split("##")[0]
        self.assertIn("these numbers say nothing about hardware", head)
        self.assertNotIn("On hardware", head)

    def test_losses_that_mean_nothing_reach_no_goal(self):
        simulated = dict(results_of(simulated=True), measures={}, pytorch={"1f1b": {"losses_identical": None, "idle_share": 0.4}})
        text = page.render(simulated, [])
        self.assertIn("| losses bit-identical, PyTorch's too | all | 0 of 0 | not measured |", text)
        self.assertIn("there are no losses to compare.\n\n", text)
        self.assertIn("| 1f1b | not measured | not measured | not measured | 40.0 % |", text)

    def test_what_weft_did_in_pytorch_is_shown(self):
        outputs = {"profiled": {"losses_identical": True, "problems": [], "stopped": ["a slice"], "bubbles": 12, "idle_share": 0.4,
                                "conversion": 0.3, "fill_units": 9, "fill_units_wrong": 0, "iteration_time_change": 0.01,
                                "profiled_kernels": {"plain": 50, "weft": 61}},
                   "gpipe": {"losses_identical": True, "problems": ["Weft was not active"], "bubbles": 0, "fill_units": 0}}
        text = page.render(dict(results_of(), pytorch=outputs), [])
        self.assertIn("| profiled | yes | yes | 12 | 40.0 % | 30.0 % | 9 (0) | 1.00 % | 50, 61 | filling stopped: a slice |", text)
        self.assertIn("| gpipe | yes | NO | 0 | not measured | not measured | 0 (not measured) |", text)
        self.assertIn("| Weft was not active |", text)

    def test_conversion_where_ranks_share_a_gpu_has_its_warning(self):
        result = dict(results_of(), pytorch={"1f1b": {}})
        result["environment"] = dict(result["environment"], devices=result["environment"]["devices"][:1])
        self.assertIn("one rank's bubble is another's compute", page.render(result, []))
        result["environment"]["devices"] = 2 * result["environment"]["devices"]
        self.assertNotIn("one rank's bubble", page.render(result, []))
        self.assertNotIn("one rank's bubble", page.render(dict(results_of(simulated=True), pytorch={"1f1b": {}}), []))


class Behaviours(unittest.TestCase):
    def test_each_assumption_stands_beside_what_was_found(self):
        probes = {"synchronise_semantics": {"values": {"context_waits_for_later": True, "stream_waits_for_later": False}},
                  "memory_calls_next_to_spin": {"values": {"stalls": ["cuMemAlloc"], "stalls_other_threads": []}}}
        rows = {row["behaviour"]: row for row in behaviours.compared(probes)}
        self.assertEqual(rows["a synchronise waits for work submitted after it"]["found"], "context")
        self.assertEqual(rows["a synchronise waits for work submitted after it"]["as_assumed"], False)
        self.assertEqual(rows["calls that hold other threads' launches up while they stall"]["as_assumed"], False)
        self.assertIn("cuMemFree", rows["memory calls that stall next to a spinning kernel"]["expected"])
        self.assertEqual(rows["memory calls that stall next to a spinning kernel"]["as_assumed"], False)
        self.assertIsNone(rows["streams of different priority share hardware queues"]["as_assumed"])
        text = page.render(dict(results_of(), probes=probes), [])
        self.assertRegex(text, r"calls that hold other threads' launches up while they stall \| cuMemFree, .* \| none \| NO \| memory_calls_next_to_spin")


class Decisions(unittest.TestCase):
    def answers(self, **probes):
        return {question: [answer for _, answer in found]
                for question, _, found in decisions.answers({name: {"values": values} for name, values in probes.items()})}

    def test_each_number_of_queues_has_its_answer_and_none_is_no_answer(self):
        found = self.answers(one_queue_with_1={"write_passes": False, "event_passes": True, "host_wait_passes": True},
                             one_queue_with_8={"write_passes": True, "event_passes": True, "green_passes": False, "green_balanced_passes": True})
        self.assertEqual(found["fill runs beside a running kernel with a stream-ordered write behind it"], [False, None, True])
        self.assertEqual(found["fill runs while the host waits for the device, an event behind the running kernel"], [True, None, None])
        self.assertEqual(found["fill in a green context of the default scope runs beside a blocked stream"], [None, None, False])
        self.assertEqual(found["fill in a balanced green context runs beside a blocked stream, and holds none up"], [None, None, True])
        self.assertTrue(all(set(answers) == {None} for answers in self.answers().values()))

    def test_packages_need_each_part(self):
        stalls = {"stalls": ["cuMemUnmap"], "does_not": ["cuMemRelease"]}
        found = self.answers(fixed_address={"early_honoured": True, "late_honoured": False}, memory_calls_next_to_spin=stalls,
                             green_context={"multiprocessors_given": 124, "used_by_uncapped_grid_in_green_context": 124,
                                            "used_by_uncapped_graph_node_in_green_context": 132},
                             module_variables={"global_of_library": "found", "constant_of_library": "CUDA_ERROR_NOT_FOUND"})
        self.assertEqual(found["addresses are given where asked for, early and late"], [False])
        self.assertEqual(found["a grid without a cap stays inside its green context"], [True])
        self.assertEqual(found["the same for a node of a graph that names the context"], [False])
        self.assertEqual(found["global, constant and static variables are found by name"], [False])
        self.assertEqual(found["memory is unmapped and released beside a running kernel without a stall"], [False])
        # Not all of its calls were asked.
        self.assertEqual(found["code is loaded and graphs are made beside a running kernel without a stall"], [None])

    def test_the_page_has_them(self):
        text = page.render(dict(results_of(), probes={"one_queue_with_1": {"values": {"write_passes": False}}}), [])
        self.assertIn("with a stream-ordered write behind it | 1 queue: NO; 2 queues: not measured; 8 queues: not measured |", text)

    def test_queues_of_probes_are_not_those_of_trainings(self):
        steps = [{"name": "probe.one_queue_with_1", "feeds": "probe", "status": "passed", "seconds": 1.0, "reason": "",
                  "environment": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}]
        self.assertIn("| CUDA_DEVICE_MAX_CONNECTIONS | as found |", page.render(dict(results_of(), steps=steps), []))


class Constants(unittest.TestCase):
    def test_every_probe_that_the_list_names_can_be_looked_up(self):
        listed = constants.load(SOURCE)
        self.assertIn("launch_latency", [constant.name for constant in listed])
        rows = constants.compared(listed, {"launch_latency": {"value": 1500}})
        self.assertEqual({row["name"]: row["ratio"] for row in rows}["launch_latency"], 0.5)

    def test_what_depends_on_the_link_is_marked_and_the_page_says_so(self):
        listed = constants.load(SOURCE)
        found = constants.measured(listed, {"nccl_links": {"values": {"nccl_fifo": 65536}}, "command_times": {"values": {"launch_latency": 2000}}})
        self.assertEqual({name: value.get("transport") for name, value in found.items()}, {"nccl_fifo": "sockets", "launch_latency": None})
        text = page.render(dict(results_of(), simulator_constants=found), listed)
        self.assertIn("65536 bytes over sockets: not taken |", text)

    def test_what_the_simulator_could_not_take_is_left_out(self):
        listed = constants.load(SOURCE)
        for value in (True, -1, float("nan"), "2"):
            self.assertEqual(constants.measured(listed, {"command_times": {"values": {"launch_latency": value}}}), {})


class Numbers(unittest.TestCase):
    def test_interval(self):
        found = numbers_of_runs.interval([1.0, 2.0, 3.0, 4.0, 5.0])
        self.assertAlmostEqual(found["mean"], 3.0)
        # t(0.975, 4) * s / sqrt(5) = 2.776 * 1.58114 / 2.23607
        self.assertAlmostEqual(found["high"] - 3.0, 1.9629, places=3)
        self.assertIsNone(numbers_of_runs.interval([1.0])["low"])

    def test_quantile_lies_between_neighbours(self):
        self.assertEqual(numbers_of_runs.quantile([10, 0, 20], 0.5), 10)
        self.assertEqual(numbers_of_runs.quantile([0, 10], 0.25), 2.5)
        self.assertIsNone(numbers_of_runs.quantile([], 0.5))

    def test_recovery_counts_from_the_change(self):
        errors = {iteration: [0.02] for iteration in range(1, 20)}
        errors.update({12: [1.0, 0.9], 13: [0.4], 14: [0.05]})
        found = recovery.recovery(errors)
        self.assertEqual((found["iterations"], found["before"]), (2, 0.02))
        self.assertIsNone(recovery.recovery({iteration: [0.02] for iteration in range(20)}))
        self.assertIsNone(recovery.recovery({**errors, **{iteration: [1.0] for iteration in range(12, 20)}})["iterations"])

    def test_latencies_of_idle_intervals(self):
        kernels = truth.Kernels([
            {"type": "kernel", "name": "ncclDevKernel_SendRecv", "start": 0, "end": 100},
            {"type": "kernel", "name": "gemm", "start": 107, "end": 200},
            {"type": "kernel", "name": "product", "start": 30, "end": 40, "thread": "weft-dispatch"},
            {"type": "kernel", "name": "product", "start": 50, "end": 60, "thread": "weft-dispatch"}])
        self.assertEqual(truth.detection_latencies([[10, 100]], kernels, 20), [20])
        self.assertEqual(truth.resume_delays([[10, 100]], kernels, 20), [7])
        self.assertEqual(truth.detection_latencies([[10, 100]], kernels, 91), [])
        self.assertEqual(truth.overlap([[0, 10], [20, 30]], [[5, 25]]), 10)
        self.assertEqual(truth.united([(5, 8), (0, 6), (9, 9)]), [[0, 8]])


if __name__ == "__main__":
    unittest.main()
