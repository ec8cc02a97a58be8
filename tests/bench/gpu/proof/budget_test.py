"""Tests of the harness behind scripts/gpu-proof: the time that it has, and how it tells slow from stuck."""

import importlib.util
import os
import sys
import unittest

from support import SOURCE, TemporaryFolder  # it also makes the modules of bench/gpu known

from proof import budget, page, processes, run, steps
import training_runs


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
    """A hang on the page: a run that went on no more."""

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


if __name__ == "__main__":
    unittest.main()
