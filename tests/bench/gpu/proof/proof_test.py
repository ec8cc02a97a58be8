"""Tests of the harness behind scripts/gpu-proof: limits, killing, deadlines, results, page, constants, bundle.

Run by CTest (label unit) with the source and build folder in WEFT_SOURCE and WEFT_BUILD; nothing here needs a GPU. Limits are
checked by what is left alive, not by the clock.
"""

import datetime
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import time
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
BUILD = pathlib.Path(os.environ["WEFT_BUILD"])
sys.path.insert(0, str(SOURCE / "bench/gpu"))
sys.path.insert(0, str(SOURCE / "bench/gpu/measures"))

from proof import behaviours, budget, bundle, constants, environment, files, page, processes, results, run, simulator, steps  # noqa: E402
import mps  # noqa: E402
import numbers_of_runs  # noqa: E402
import recovery  # noqa: E402
import training_runs  # noqa: E402
import truth  # noqa: E402


def alive(process):
    """Whether a process exists and is no zombie."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="proof test "))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def script(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return [sys.executable, str(path)]


# Ignores SIGTERM, and has a grandchild in a session of its own whose parent is gone. Writes both process numbers.
STUBBORN = """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    numbers = sys.argv[1]
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(numbers + ".orphan", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(1000)
    with open(numbers, "w") as file:
        file.write(str(os.getpid()))
    time.sleep({sleep})
"""


class Processes(TemporaryFolder):
    @classmethod
    def setUpClass(cls):
        processes.become_subreaper()

    def numbers(self):
        path = self.folder / "numbers"
        give_up = time.monotonic() + 20
        while not (path.with_suffix(".orphan").exists() and path.with_suffix(".orphan").read_text()) and time.monotonic() < give_up:
            time.sleep(0.01)
        return [int(one.read_text()) for one in (path, path.with_suffix(".orphan")) if one.exists()]

    def run_it(self, sleep, limit):
        command = self.script(STUBBORN.format(sleep=sleep)) + [str(self.folder / "numbers")]
        return processes.run(command, limit, dict(os.environ), self.folder / "out", self.folder / "err")

    def test_a_step_that_ignores_sigterm_and_its_orphan_in_another_session_are_killed(self):
        outcome = self.run_it(sleep=1000, limit=3)
        self.assertIsNone(outcome.exit_code)
        self.assertEqual(outcome.not_killed, 0)
        numbers = self.numbers()
        self.assertEqual(len(numbers), 2)
        self.assertFalse(any(alive(number) for number in numbers))

    def test_what_a_finished_step_leaves_behind_is_killed_and_counted(self):
        # The step ends once its orphan has said that it lives.
        outcome = self.run_it(sleep=2, limit=30)
        self.assertEqual((outcome.exit_code, outcome.left_behind, outcome.not_killed), (0, 1, 0))
        self.assertFalse(alive(self.numbers()[1]))

    def test_nothing_else_is_touched(self):
        # A sibling of this test's process: the parent of both is the test runner's.
        self.assertNotIn(os.getpid(), processes.descendants())
        self.assertNotIn(os.getppid(), processes.descendants())

    def test_a_command_that_is_not_there_is_an_error_not_an_exception(self):
        outcome = processes.run([str(self.folder / "missing")], 5, dict(os.environ), self.folder / "out", self.folder / "err")
        self.assertIsNone(outcome.exit_code)
        self.assertIn("missing", outcome.error)


class Steps(TemporaryFolder):
    def one(self, text, feeds="", limit=30):
        step = run.Step("one", self.script(text), limit, feeds)
        return run.run_all([step], 60, dict(os.environ), self.folder)[0]

    def test_success_and_its_json_line(self):
        result = self.one('print("noise"); print(\'{"probe": "one", "values": {"a": 1}}\')', "probe")
        self.assertEqual((result["status"], result["output"]["values"]), ("passed", {"a": 1}))

    def test_pretty_printed_json_is_read_too(self):
        self.assertEqual(self.one('import json; print(json.dumps({"a": {"b": 1}}, indent=2))')["output"], {"a": {"b": 1}})

    def test_what_is_no_number_is_null(self):
        self.assertEqual(self.one('print(\'{"a": NaN, "b": [-Infinity]}\')')["output"], {"a": None, "b": [None]})

    def test_77_is_a_skip_with_its_reason(self):
        result = self.one('print(\'{"skipped": "no cluster here"}\'); raise SystemExit(77)', "probe")
        self.assertEqual((result["status"], result["reason"]), ("skipped", "no cluster here"))

    def test_a_failure_says_its_last_line(self):
        result = self.one('import sys; print("first\\nwhat went wrong\\n", file=sys.stderr); sys.exit(3)')
        self.assertEqual((result["status"], result["reason"], result["exit_code"]), ("failed", "what went wrong", 3))

    def test_a_probe_without_json_has_failed(self):
        self.assertEqual(self.one("pass", "probe")["reason"], "it printed no JSON object")

    def test_the_limit_is_known_to_the_step(self):
        self.assertEqual(self.one('import os, json; print(json.dumps({"limit": os.environ["GPU_PROOF_LIMIT"]}))', limit=7)["output"],
                         {"limit": "7"})

    def test_trainings_with_fill_get_enough_hardware_queues_and_the_results_say_so(self):
        place = steps.Place(root=SOURCE, programs=BUILD, python=sys.executable, work=self.folder, mode="full", simulated=False, devices=1,
                            torch=True, training=environment.of_training({}))
        with_queues = {step.name.split(".")[0] for step in steps.steps_of(place) if step.environment == {environment.HARDWARE_QUEUES: "32"}}
        self.assertEqual(with_queues, {"ranks", "measure", "pytorch"})
        self.assertEqual(environment.of_training({environment.HARDWARE_QUEUES: "16"}), {environment.HARDWARE_QUEUES: "16"})
        print_it = self.script('import json, os; print(json.dumps({"queues": os.environ["CUDA_DEVICE_MAX_CONNECTIONS"]}))')
        entry = run.run_all([run.Step("one", print_it, 30, environment=place.training)], 60, dict(os.environ), self.folder)[0]
        self.assertEqual((entry["output"], entry["environment"]), ({"queues": "32"}, {environment.HARDWARE_QUEUES: "32"}))

    def test_steps_in_python_leave_no_bytecode_in_the_source_tree(self):
        (self.folder / "part.py").write_text("")
        bare = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        run.run_all([run.Step("one", self.script("import part"), 30)], 60, environment.of_steps(bare, {}), self.folder)
        self.assertFalse((self.folder / "__pycache__").exists())

    def test_failures_and_hangs_do_not_stop_the_rest(self):
        good = self.script("pass", "good.py")
        hang = self.script("import time; time.sleep(1000)", "hang.py")
        entries = run.run_all([run.Step("missing", [self.folder / "no"], 5), run.Step("hang", hang, 1), run.Step("good", good, 30)],
                              100, dict(os.environ), self.folder)
        self.assertEqual([entry["status"] for entry in entries], ["failed", "timed out", "passed"])

    def test_the_deadline_leaves_out_what_does_not_fit(self):
        # A clock that each look moves by ten seconds: one step fits into 25, the next ones do not.
        times = iter(range(0, 1000, 10))
        made = self.script("pass", "good.py")
        entries = run.run_all([run.Step(str(number), made, 30, least=12) for number in range(3)], 25, dict(os.environ), self.folder,
                              clock=lambda: next(times))
        self.assertEqual([entry["status"] for entry in entries], ["passed", "not run", "not run"])
        self.assertIn("out of time", entries[1]["reason"])

    def test_what_cannot_be_answered_here_is_a_skip_and_is_not_started(self):
        entries = run.run_all([run.Step("one", [self.folder / "no"], 5, skip="no such thing here")], 60, dict(os.environ), self.folder)
        self.assertEqual([(entry["status"], entry["reason"]) for entry in entries], [("skipped", "no such thing here")])

    def test_an_interrupt_stops_the_step_and_keeps_what_was_done(self):
        stop = self.script("import os, signal, time; os.kill(os.getppid(), signal.SIGTERM); time.sleep(1000)", "stop.py")
        good = self.script("pass", "good.py")

        def interrupt(number, frame):
            raise run.Interrupted

        before = signal.signal(signal.SIGTERM, interrupt)
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        entries = run.run_all([run.Step("good", good, 30), run.Step("stop", stop, 60), run.Step("rest", good, 30)], 100,
                              dict(os.environ), self.folder)
        self.assertEqual([entry["status"] for entry in entries], ["passed", "not run", "not run"])
        self.assertEqual(entries[2]["reason"], "interrupted")
        self.assertEqual(processes.descendants(), set())

    def test_a_probe_ends_itself_before_its_step_is_stopped(self):
        probes = SOURCE / "bench/gpu/probes"
        longest = {name: int(number.replace("'", "")) / 1000 for path in probes.glob("support/*.h")
                   for name, number in re.findall(r"milliseconds (longest\w+)\{([0-9']+)\}", path.read_text())}
        (self.folder / "bin/probes").mkdir(parents=True)
        sources = {path.stem: path.read_text() for path in probes.glob("*.cpp")}
        for name in sources:
            (self.folder / "bin/probes" / name).touch()
        for mode in ("quick", "full"):
            made = steps.probe_steps(steps.Place(root=SOURCE, programs=self.folder, python="", work=self.folder, mode=mode, simulated=False,
                                                 devices=1, torch=False, training={}))
            self.assertEqual(len(made), len(sources))
            for step in made:
                source = sources[step.name.split(".")[1]]
                own = "longest_probe_with_ranks" if "longest_probe_with_ranks" in source else "longest_probe"
                self.assertGreaterEqual(step.limit, longest[own] + 5, step.name)

    def test_quick_steps_are_some_of_the_full_ones_and_fit_their_time_each(self):
        place = dict(root=SOURCE, programs=BUILD, python=sys.executable, work=self.folder, simulated=False, devices=1, torch=True, training={})
        quick, full = (steps.steps_of(steps.Place(mode=mode, **place)) for mode in ("quick", "full"))
        self.assertLessEqual({step.name for step in quick}, {step.name for step in full})
        self.assertTrue(all(step.limit <= 8 * 60 for step in quick))
        self.assertEqual(len({step.name for step in full}), len(full))

    def test_each_pytorch_step_says_what_weft_must_have_done(self):
        place = steps.Place(root=SOURCE, programs=BUILD, python=sys.executable, work=self.folder, mode="full", simulated=False, devices=1,
                            torch=True, training={})
        expected = {step.name: step.command[step.command.index("--expect") + 1] for step in steps.pytorch_steps(place)
                    if step.feeds == "pytorch"}
        # Receives inside replayed graphs are not seen.
        self.assertEqual({name for name, what in expected.items() if what != "filled"}, {"pytorch.graph-step"})
        self.assertEqual(expected["pytorch.graph-step"], "active")


# As docs/results/README.md tells them: what --only is given in three commands that together make a full run.
PARTS = (("probe.", "case.", "ranks."), ("measure.",), ("pytorch.", "sanitizer."))


class Budget(TemporaryFolder):
    def steps(self, mode):
        """All steps of hardware with PyTorch, whatever this build has."""
        programs = self.folder / "programs"
        for name in ("bin/bubble_case", "bin/probes/one", "bin/probes/two", "bin/gpu_cases/kernels_check"):
            (programs / name).parent.mkdir(parents=True, exist_ok=True)
            (programs / name).touch()
        return steps.steps_of(steps.Place(root=SOURCE, programs=programs, python=sys.executable, work=self.folder, mode=mode, simulated=False,
                                          devices=1, torch=True, training={}))

    def pass_time(self, chosen, seconds, mode):
        """Entries of a run in which every step takes all the time it may."""
        now = [0.0]

        def take_all(step, limit, environment, logs):
            now[0] += limit + processes.GRACE_SECONDS
            return {"name": step.name, "status": "passed", "reason": "", "seconds": limit + processes.GRACE_SECONDS}

        before, run.run_step = run.run_step, take_all
        self.addCleanup(setattr, run, "run_step", before)
        entries = run.run_all(chosen, seconds, {}, self.folder, clock=lambda: now[0],
                              sure=budget.sure(mode, {step.kind for step in chosen}, seconds))
        self.assertLessEqual(now[0], seconds)
        return entries

    def test_the_table_adds_up(self):
        for mode, column in (("quick", 0), ("full", 1)):
            self.assertLessEqual(sum(row[column] for row in budget.TABLE.values()), budget.SECONDS[mode])
            self.assertEqual({step.kind for step in self.steps(mode)}, set(budget.TABLE))

    def test_each_kind_is_had_when_every_step_takes_all_its_time(self):
        for mode in ("quick", "full"):
            chosen = self.steps(mode)
            ended = {entry["name"]: entry["status"] for entry in self.pass_time(chosen, budget.SECONDS[mode], mode)}
            had = {step.kind for step in chosen if ended[step.name] == "passed" and step.name != "pytorch.warm-up"}
            self.assertEqual(had, set(budget.TABLE), mode)

    def test_a_full_run_fits_into_three_commands_of_nine_minutes(self):
        chosen, found = self.steps("full"), []
        for part in PARTS:
            mine = [step for step in chosen if any(text in step.name for text in part)]
            found += [step.name for step in mine]
            self.assertLessEqual(sum(budget.TABLE[kind][1] for kind in {step.kind for step in mine}), 510)
        self.assertEqual(sorted(found), sorted(step.name for step in chosen))
        recipe = (SOURCE / "docs/results/README.md").read_text()
        for part in PARTS:
            self.assertIn(" ".join(f"--only {text}" for text in part), recipe)

    def test_time_that_is_not_needed_goes_to_what_was_put_off(self):
        now = [0.0]

        def take(step, limit, environment, logs):
            now[0] += 10
            return {"name": step.name, "status": "passed", "reason": "", "seconds": 10.0}

        before, run.run_step = run.run_step, take
        self.addCleanup(setattr, run, "run_step", before)
        chosen = [run.Step(name, [], 60, kind=name[0], least=15) for name in ("a1", "a2", "b")]
        order = []
        entries = run.run_all(chosen, 60, {}, self.folder, clock=lambda: now[0], sure={"b": 40}, say=lambda line: order.append(line.split()[-1]))
        self.assertEqual(order, ["a1", "b", "a2"])
        self.assertEqual([entry["status"] for entry in entries], ["passed"] * 3)

    def test_a_step_that_the_run_had_no_time_for_did_not_hang(self):
        hang = run.Step("hang", self.script("import time; time.sleep(1000)"), 60, least=1)
        entry = run.run_all([hang], 4, dict(os.environ), self.folder)[0]
        self.assertEqual(entry["status"], "timed out")
        self.assertTrue(entry["reason"].startswith("out of time after"), entry)
        self.assertEqual(page._hung({"steps": [entry], "measures": {}}), 0)


class Stopped(unittest.TestCase):
    """What the page counts as a hang: a run that went on no more."""

    def hangs(self, reason):
        return page._hung({"steps": [{"reason": reason}], "measures": {}})

    def test_a_training_that_went_on_was_too_slow(self):
        full = training_runs.RUN_LIMIT
        self.assertEqual([self.hangs(training_runs.how_it_was_stopped(limit, silent)) for limit, silent in
                          ((full, 30), (full, 1), (full - 1, 30))], [1, 0, 0])

    def test_a_pytorch_script_that_went_on_was_too_slow(self):
        specification = importlib.util.spec_from_file_location("compare", SOURCE / "examples/pytorch/compare.py")
        compare = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(compare)
        some, none = {"losses": ["a"] * 3, "milliseconds": [4000.0] * 3}, {"losses": [], "milliseconds": []}
        self.assertEqual([self.hangs(compare.how_it_was_stopped(log, silent, 85, with_weft)) for log, silent, with_weft in
                          ((some, 15, True), (some, 25, True), (none, 60, False), (none, 60, True))], [0, 1, 0, 1])


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

    def test_logs_are_one_file_and_traces_are_left_out(self):
        (self.folder / "work/logs").mkdir(parents=True)
        (self.folder / "work/logs/one.err").write_text("why")
        (self.folder / "work/rank0.jsonl").write_text("trace")
        archive = self.folder / "logs.tar.gz"
        files.pack_logs(self.folder / "work", archive)
        with tarfile.open(archive) as packed:
            self.assertEqual(packed.getnames(), ["logs/one.err"])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["logs.tar.gz", "work"])


class Simulated(TemporaryFolder):
    """The steps on the simulated GPU, whose programs come from a folder without a simulator: a bundle."""

    def setUp(self):
        super().setUp()
        self.programs, self.libraries = self.folder / "bundle", self.folder / "lib/simgpu"
        for path in (self.programs / "bin/bubble_case", self.libraries / "libcudart.so.13", self.libraries / "libnccl.so.2"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def steps(self, prefix):
        place = steps.Place(root=SOURCE, programs=self.programs, python=sys.executable, work=self.folder, mode="quick", simulated=True,
                            devices=4, torch=True, training={}, simulator=self.libraries)
        return [step for step in steps.steps_of(place) if step.name.startswith(prefix)]

    def test_the_cases_of_a_bundle_are_run(self):
        self.assertIn("case.event", [step.name for step in self.steps("case.")])
        self.assertEqual([step.name for step in self.steps("ranks.")], ["ranks.stage-1"])

    def test_pytorch_is_skipped_where_nothing_stands_in_for_cublas(self):
        self.assertTrue(all(simulator.STAND_IN in step.skip for step in self.steps("pytorch.")))

    def test_pytorch_is_run_with_the_simulator_preloaded(self):
        (self.libraries / simulator.STAND_IN).touch()
        for step in self.steps("pytorch."):
            self.assertEqual((step.skip, step.command[0].name), ("", "on-simulated-gpu"))
            self.assertEqual(step.command[1:4], ["--build", self.folder, "--pytorch"])
        self.assertEqual(len(self.steps("pytorch.")), 2)


def results_of(simulated=False):
    fixture = json.loads((SOURCE / "tests/bench/gpu/proof/fixture.json").read_text())
    started = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.timezone.utc)
    return results.assemble(mode="full", started=started, seconds=100.0, simulated=simulated, environment=fixture["environment"],
                            entries=fixture["steps"], constants=constants.load(SOURCE))


class Results(unittest.TestCase):
    def test_the_name_holds_date_gpu_and_commit(self):
        self.assertEqual(results.stem(results_of()), "2026-11-21-h200-0123456789ab")

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
            with self.assertRaisesRegex(ValueError, "other commit"):
                results.earlier_entries(path, dict(earlier["environment"], commit="another"))


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
                         "| conversion, bubbles of 20 ms and more | at least 80 % | 79.0 % | NO |", "| fill on: slowdown | at most 0.5 % | 0.30 % | yes |",
                         "| losses bit-identical, PyTorch's too | all | 2 of 2 | yes |", "| no hang | 0 | 2 | NO |", "| 280.0 us, 299.0 us |",
                         "Test bed: stage 1 of 4 computes, its peers sleep; on one GPU, under MPS.", "- frontier: slice-3ms: stopped after 60 s"):
            self.assertIn(expected, text)

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
        self.assertEqual(rows["a stalled memory call holds other threads up"]["as_assumed"], True)
        self.assertIn("cuMemFree", rows["memory calls that stall next to a spinning kernel"]["expected"])
        self.assertEqual(rows["memory calls that stall next to a spinning kernel"]["as_assumed"], False)
        self.assertIsNone(rows["streams of different priority share hardware queues"]["as_assumed"])
        text = page.render(dict(results_of(), probes=probes), [])
        self.assertIn("| a stalled memory call holds other threads up | none | none | yes | memory_calls_next_to_spin |", text)


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


# Stands for nvidia-cuda-mps-control: writes down how it was called.
MPS_CONTROL = """#!/bin/sh
echo "$* $(cat) $CUDA_MPS_PIPE_DIRECTORY" >>"{log}"
exit {code}
"""
# Stands for fill_loop: a client that works, or whose context cannot be made, and says with how many hardware queues it was started.
MPS_CLIENT = """#!/bin/sh
echo "$CUDA_DEVICE_MAX_CONNECTIONS $CUDA_MPS_PIPE_DIRECTORY" >>"{log}"
[ {works} = 1 ] || {{ echo "error 809" >&2; exit 1; }}
echo "1 1" >"$2"
"""


class MpsDaemon(TemporaryFolder):
    def executable(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def variable(self, name, value):
        before = os.environ.get(name)
        self.addCleanup(lambda: os.environ.pop(name, None) if before is None else os.environ.__setitem__(name, before))
        os.environ[name] = value

    def control(self, code, clients_work=True):
        self.executable("nvidia-cuda-mps-control", MPS_CONTROL.format(log=self.folder / "log", code=code))
        self.executable("bin/measures/fill_loop", MPS_CLIENT.format(log=self.folder / "clients", works=int(clients_work)))
        self.variable("PATH", f"{self.folder}:{os.environ['PATH']}")
        self.variable(environment.MPS_VERDICT, str(self.folder / "mps.json"))

    def clients(self):
        return (self.folder / "clients").read_text().splitlines()

    def test_it_is_started_and_ended_in_a_folder_of_its_own(self):
        self.control(0)
        daemon = mps.Mps()
        pipes = pathlib.Path(daemon.environment["CUDA_MPS_PIPE_DIRECTORY"])
        self.assertTrue(pipes.is_dir())
        daemon.stop()
        self.assertFalse(pipes.exists())
        self.assertEqual([line.split() for line in (self.folder / "log").read_text().splitlines()],
                         [["-d", str(pipes)], ["start_server", "-uid", str(os.getuid()), str(pipes)], ["quit", str(pipes)]])

    def test_where_it_does_not_start_there_is_none(self):
        self.control(1)
        with self.assertRaisesRegex(mps.Unavailable, "cannot be started"):
            mps.Mps()

    def test_as_many_clients_as_any_measurement_has_must_work_once(self):
        self.control(0)
        for _ in range(2):
            mps.tried(self.folder).stop()
        queues = sorted(int(line.split()[0]) for line in self.clients())
        self.assertEqual(queues, [4, 4, 4, 16, 16, 16])
        self.assertEqual(environment.mps_verdict(self.folder / "mps.json"), {"usable": True, "reason": ""})

    def test_where_clients_fail_it_is_not_used_and_not_tried_again(self):
        self.control(0, clients_work=False)
        for _ in range(2):
            with self.assertRaisesRegex(mps.Unavailable, "6 of 6 clients at once failed: error 809"):
                mps.tried(self.folder)
        self.assertEqual(len(self.clients()), 6)
        self.assertIn("| MPS | not used: 6 of 6 clients at once failed: error 809 |", page.render(
            dict(results_of(), environment=dict(results_of()["environment"], mps=environment.mps_verdict(self.folder / "mps.json"))), []))

    def test_a_command_runs_with_it_and_without_it(self):
        for code, works, expected in ((0, True, True), (1, True, False), (0, False, False)):
            self.control(code, works)
            (self.folder / "mps.json").unlink(missing_ok=True)
            command = [sys.executable, SOURCE / "bench/gpu/measures/mps.py", self.folder, "sh", "-c",
                       "echo [$CUDA_MPS_PIPE_DIRECTORY]; exit 7"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60, check=False)
            self.assertEqual((done.returncode, "weft-mps-" in done.stdout), (7, expected))

    def test_when_the_first_training_under_it_fails_it_is_made_again_without(self):
        self.control(0)
        measuring = training_runs.Measuring.__new__(training_runs.Measuring)
        measuring.mps, measuring.without_mps, measuring.failures, measuring._trained = mps.tried(self.folder), "", [], False
        tried = []

        def train(*_):
            tried.append(measuring.mps is not None)
            return ("error 807" if measuring.mps else ""), "the run"

        measuring._train = train
        self.assertEqual(measuring.run("one", "1f1b", 10), "the run")
        self.assertEqual((tried, measuring.failures), ([True, False], []))
        self.assertIn("error 807", environment.mps_verdict(self.folder / "mps.json")["reason"])


class Ranks(TemporaryFolder):
    def start(self, ranks, text, **environment):
        command = [sys.executable, SOURCE / "bench/gpu/measures/ranks.py", str(ranks), *self.script(text)]
        return subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, timeout=60, check=False, env=dict(os.environ, **environment))

    def test_ranks_on_one_gpu_are_machines_of_their_own_and_one_is_measured(self):
        done = self.start(3, """
            import os
            names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "NCCL_HOSTID", "NCCL_NET", "WEFT", "BASELINE_FILL")
            print(" ".join(os.environ.get(name, "-") for name in names) + "\\n", end="", flush=True)
        """, GPU_PROOF_SHARED_GPU="1", GPU_PROOF_RANK="1", BASELINE_FILL="job", WEFT="fill")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 0 3 weft-rank-0 Socket off -", "1 1 3 weft-rank-1 Socket fill job",
                                                           "2 2 3 weft-rank-2 Socket off -"])

    def test_under_mps_sleeping_peers_have_few_hardware_queues(self):
        done = self.start(2, """
            import os
            print(os.environ["RANK"] + " " + os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] + "\\n", end="", flush=True)
        """, GPU_PROOF_RANK="1", CUDA_MPS_PIPE_DIRECTORY="/tmp/x", CUDA_DEVICE_MAX_CONNECTIONS="16")
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 4", "1 16"])

    def test_a_rank_that_fails_ends_the_others(self):
        # Rank 0 would wait for ever, as in a receive whose peer has gone.
        done = self.start(2, """
            import os, sys, time
            if os.environ["RANK"] == "1":
                sys.exit(5)
            time.sleep(1000)
        """)
        self.assertEqual(done.returncode, 5)


    def test_the_ranks_of_a_case_end_within_the_limit_of_their_step(self):
        question = f"import sys; sys.path.insert(0, {str(SOURCE / 'tests/gpu/cases')!r}); import run_ranks; print(run_ranks.RUN_LIMIT)"
        done = subprocess.run([sys.executable, "-B", "-c", question], stdout=subprocess.PIPE, universal_newlines=True, timeout=60, check=True,
                              env=dict(os.environ, GPU_PROOF_LIMIT="60.0"))
        self.assertEqual(float(done.stdout), 25)


# Stands for compute-sanitizer: ends for each program as a file of its name says, after Weft's trace was written.
SANITIZER = """#!/bin/sh
case "$*" in
  *bin/weft*) trace=$(echo "$*" | sed 's/.*--output \\([^ ]*\\) .*/\\1/'); mkdir -p "$trace"
    echo '{{"type": "summary", "fill_units": {units}}}' >"$trace/rank0.jsonl" ;;
  *fill_pagerank*) exit {pagerank} ;;
esac
"""


class Sanitizer(TemporaryFolder):
    def words(self, units, pagerank):
        for name, text in (("tools/compute-sanitizer", SANITIZER.format(units=units, pagerank=pagerank)),
                           ("bin/gpu_cases/kernels_check", "#!/bin/sh\n[ \"$1\" = --no-speed ]\n"), ("bin/measures/fill_loop", ""),
                           ("bin/bubble_case", ""), ("bin/weft", "")):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        done = subprocess.run([SOURCE / "tests/gpu/cases/compute_sanitizer.sh", self.folder, "memcheck"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=60, check=False,
                              env=dict(os.environ, PATH=f"{self.folder}/tools:{os.environ['PATH']}"))
        line = json.loads(done.stdout)
        self.assertEqual(line["holds"], done.returncode == 0, done.stderr)
        return line["values"]

    def test_no_time_is_no_report_and_weft_that_did_not_fill_was_not_checked(self):
        clean = {"kernels": "clean", "matmul": "clean", "pagerank": "clean", "weft": "clean"}
        self.assertEqual(self.words(units=3, pagerank=0), clean)
        self.assertEqual(self.words(units=0, pagerank=124), {**clean, "pagerank": "out of time", "weft": "did not fill"})
        self.assertEqual(self.words(units=3, pagerank=99)["pagerank"], "report")


class Bundle(TemporaryFolder):
    def make(self, *arguments):
        return subprocess.run([SOURCE / "scripts/gpu-bundle", "--build", BUILD, "--out", self.folder / "a bundle", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=300, check=False)

    def test_it_is_small_complete_and_can_be_made_twice(self):
        for _ in range(2):
            done = self.make()
            self.assertEqual(done.returncode, 0, done.stderr)
        folder = self.folder / "a bundle"
        files = [path for path in folder.glob("**/*") if path.is_file()]
        self.assertLess(sum(path.stat().st_size for path in files), 60_000_000)
        for name in bundle.REQUIRED + ("lib/cuda/libcudart.so.13",):
            self.assertTrue((folder / name).exists(), name)
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, timeout=60, check=True)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a bundle"])
        moved = folder.rename(self.folder / "moved")
        printed = subprocess.run([moved / "bin/weft", "lib"], stdout=subprocess.PIPE, universal_newlines=True, timeout=60, check=True).stdout
        self.assertTrue(pathlib.Path(printed.strip()).samefile(moved / "lib/weft/libweft.so"))

    def test_nothing_but_the_system_the_driver_and_nccl_is_needed(self):
        self.assertEqual(self.make().returncode, 0)
        for path in sorted((self.folder / "a bundle").glob("**/*")):
            if path.is_file() and bundle.is_elf(path):
                strangers = set(bundle.needed_libraries(path)) - bundle.FROM_THE_SYSTEM - {bundle.CUDA_RUNTIME}
                self.assertEqual(strangers, set(), path.name)

    def test_a_dependency_that_the_target_may_lack_is_refused(self):
        with self.assertRaisesRegex(bundle.BundleError, "needs libstdc"):
            bundle.check_file(BUILD / "lib/simgpu/libcuda.so.1", "libcuda.so.1", set())

    def test_another_folder_is_never_replaced(self):
        (self.folder / "a bundle").mkdir()
        (self.folder / "a bundle/precious").write_text("mine")
        done = self.make()
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no bundle", done.stderr)
        self.assertEqual((self.folder / "a bundle/precious").read_text(), "mine")


class CommandLine(TemporaryFolder):
    def proof(self, *arguments, environment=None):
        return subprocess.run([SOURCE / "scripts/gpu-proof", "--bundle", BUILD, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=200, env=environment or dict(os.environ), check=False)

    def test_without_a_gpu_one_line_says_so(self):
        # A driver that cannot be loaded, wherever this test runs.
        (self.folder / "libcuda.so.1").write_text("no library")
        done = self.proof("--out", self.folder / "out", environment=dict(os.environ, LD_LIBRARY_PATH=str(self.folder)))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "scripts/gpu-proof: no GPU can be used here (--simulated runs everything on simulated ones)\n")

    def run_until_training(self):
        """A simulated run in its own process, once the trainer's ranks work: the process and them."""
        process = subprocess.Popen([SOURCE / "scripts/gpu-proof", "--simulated", "--simulator", BUILD, "--out", self.folder, "--work",
                                    self.folder / "work", "--only", "measure.training"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        give_up = time.monotonic() + 100
        while time.monotonic() < give_up and process.poll() is None:
            started = processes.descendants(process.pid)
            if sum(self.program_of(one) == "trainer" for one in started) >= 4:
                return process, started
            time.sleep(0.02)
        self.fail("no training began")

    @staticmethod
    def program_of(process):
        try:
            return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
        except OSError:
            return ""

    def wait_until_gone(self, started):
        give_up = time.monotonic() + 60
        while any(alive(one) for one in started) and time.monotonic() < give_up:
            time.sleep(0.02)
        self.assertEqual([one for one in started if alive(one)], [])

    def test_an_interrupted_run_leaves_its_results_and_no_process(self):
        process, started = self.run_until_training()
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        self.wait_until_gone(started)
        result = json.loads(next(self.folder.glob("2*.json")).read_text())
        self.assertEqual([(step["status"], step["reason"]) for step in result["steps"]], [("not run", "interrupted")])

    def test_a_killed_run_leaves_no_process(self):
        process, started = self.run_until_training()
        process.kill()
        self.wait_until_gone(started)

    def test_a_simulated_run_never_writes_under_docs_results(self):
        done = self.proof("--simulated", "--simulator", BUILD, "--out", SOURCE / "docs/results/try")
        self.assertEqual(done.returncode, 1)
        self.assertIn("may not write under docs/results", done.stderr)
        self.assertFalse((SOURCE / "docs/results/try").exists())


if __name__ == "__main__":
    unittest.main()
