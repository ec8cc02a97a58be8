"""Tests of the harness behind scripts/gpu-proof: its steps, their limits, and what is killed when one is passed.

Limits are checked by what is left alive, not by the clock.
"""

import os
import re
import signal
import sys
import time
import unittest

from support import BUILD, SOURCE, TemporaryFolder, alive  # it also makes the modules of bench/gpu known

from proof import decisions, environment, processes, run, simulator, steps


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
            self.assertEqual({step.command[0].name for step in made}, set(sources))
            self.assertEqual(len(made), len(sources) + len(decisions.HARDWARE_QUEUES) - 1)
            for step in made:
                source = sources[step.command[0].name]
                own = "longest_probe_with_ranks" if "longest_probe_with_ranks" in source else "longest_probe"
                self.assertGreaterEqual(step.limit, longest[own] + 5, step.name)

    def test_what_decides_most_is_asked_first_and_within_two_minutes(self):
        (self.folder / "bin/probes").mkdir(parents=True)
        for path in (SOURCE / "bench/gpu/probes").glob("*.cpp"):
            (self.folder / "bin/probes" / path.stem).touch()
        for mode in ("quick", "full"):
            place = steps.Place(root=SOURCE, programs=self.folder, python=sys.executable, work=self.folder, mode=mode, simulated=False, devices=1,
                                torch=True, training={})
            made = [step for step in steps.steps_of(place) if step.quick or mode == "full"]
            names = [step.name for step in made]
            first = ["probe.one_queue_with_1", "probe.one_queue_with_2", "probe.one_queue_with_8", "probe.green_context"]
            self.assertEqual(names[:4], first)
            self.assertLessEqual(sum(step.limit + processes.GRACE_SECONDS for step in made[:4]), 120)
            self.assertEqual([step.environment.get(environment.HARDWARE_QUEUES) for step in made[:4]], ["1", "2", "8", None])
            self.assertEqual(names[4:9], [f"probe.{name}" for name in decisions.SECOND])
            self.assertNotIn("probe.one_queue", names)

    def test_the_probe_in_pytorch_needs_pytorch(self):
        place = steps.Place(root=SOURCE, programs=self.folder, python="python-with-torch", work=self.folder, mode="quick", simulated=False,
                            devices=1, torch=False, training={})
        self.assertEqual(steps.probe_steps(place), [])
        place.torch = True
        self.assertEqual([step.command[0] for step in steps.probe_steps(place)], ["python-with-torch"])

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

    def test_pytorch_is_skipped_where_nothing_stands_in_for_cublas_or_cudnn(self):
        for name in simulator.STAND_INS:
            self.assertTrue(all(name in step.skip for step in self.steps("pytorch.")))
            (self.libraries / name).touch()

    def test_pytorch_is_run_with_the_simulator_preloaded(self):
        for name in simulator.STAND_INS:
            (self.libraries / name).touch()
        for step in self.steps("pytorch."):
            self.assertEqual((step.skip, step.command[0].name), ("", "on-simulated-gpu"))
            self.assertEqual(step.command[1:4], ["--build", self.folder, "--pytorch"])
        self.assertEqual(len(self.steps("pytorch.")), 2)


if __name__ == "__main__":
    unittest.main()
