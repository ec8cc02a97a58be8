#!/usr/bin/env python3
"""Conversion against slowdown: Weft with several slice caps and budgets, and the baselines, with the same training and fill job.

Started by scripts/gpu-proof. In each round the training runs once alone and once with every setting; a slowdown is that against the
run alone of the same round. Prints one JSON object; see README.md for its values.
"""
import subprocess
import sys

from baselines import BASELINES, unit_alone, unit_ends, units_in_last
from mps import Unavailable
from numbers_of_runs import interval
from training_runs import Measuring, iterations_for

SCHEDULE = "1f1b"
SLICES = ("300us", "1ms", "100us", "3ms")  # most worth knowing first
BUDGETS = ("0.2", "5")  # per cent
BUDGET_OPTION = "WEFT_SLOWDOWN_BUDGET"
ROUNDS = 5


class WeftSetting:
    """Weft with some options of `weft run`."""

    kind = "weft"

    def __init__(self, label, options):
        self.label, self.options = label, options
        self.changes, self.conversions, self.wrong = [], [], 0

    def run(self, measuring, iterations):
        """(the run, its conversion), or None when it failed."""
        name = self.label.replace(" ", "-").replace("-%", "")
        trained = measuring.run(name, SCHEDULE, iterations, "fill", self.options)
        return trained and (trained, trained.conversion())


class Baseline(WeftSetting):
    """The same fill job all the time."""

    kind = "baseline"

    def __init__(self, label, alone, idle_per_iteration):
        super().__init__(label, ())
        self.alone, self.idle_per_iteration = alone, idle_per_iteration

    def run(self, measuring, iterations):
        folder = measuring.work / f"{self.label}-{len(self.changes)}"
        folder.mkdir()
        with BASELINES[self.label](measuring, folder) as (environment, reports):
            trained = measuring.run(self.label, SCHEDULE, iterations, environment=environment)
            ends, wrong = unit_ends(reports())
        if trained is None:
            return None
        self.wrong += wrong
        units = sum(units_in_last(one, 1e9 * sum(trained.seconds)) for one in ends)
        # Fill work per iteration, in seconds alone, over the idle seconds that an iteration has without fill.
        return trained, units / len(trained.seconds) * self.alone / self.idle_per_iteration


def settings_of_weft(measuring):
    """The default first; slice caps are tried without a budget, which would hide what they cost."""
    options = subprocess.run([measuring.programs / "bin/weft", "config"], stdout=subprocess.PIPE, universal_newlines=True,
                             timeout=30, check=True).stdout
    has_budget = BUDGET_OPTION in options
    unlimited = ("--set", f"{BUDGET_OPTION}=off") if has_budget else ()
    settings = [WeftSetting("default", ())]
    settings += [WeftSetting(f"slice {cap}", ("--slice", cap, *unlimited)) for cap in (SLICES[:2] if measuring.quick else SLICES)]
    if has_budget and not measuring.quick:
        settings += [WeftSetting(f"budget {budget} %", ("--set", f"{BUDGET_OPTION}={budget}%")) for budget in BUDGETS]
    return settings


def baselines(measuring, iterations, missing):
    """The baselines, when what their conversion is reckoned from can be measured."""
    observed = measuring.run("observe", SCHEDULE, iterations, "observe")
    try:
        if observed is None:
            raise Unavailable("the idle time without fill could not be measured")
        idle = observed.read_summary(measuring.programs)["total"]["idle_share"] * observed.mean_iteration() * observed.ranks()
        alone = unit_alone(measuring, 3)
        return [Baseline(name, alone, idle) for name in BASELINES]
    except (Unavailable, subprocess.TimeoutExpired) as reason:
        missing.update({name: str(reason) for name in BASELINES})
        return []


def run_round(measuring, iterations, settings, missing):
    """One run alone and one with each setting, as far as time allows; False when the run alone failed."""
    alone = measuring.run("alone", SCHEDULE, iterations)
    if alone is None:
        return False
    for setting in list(settings):
        if not measuring.has_time():
            break
        try:
            found = setting.run(measuring, iterations)
        except Unavailable as reason:
            missing[setting.label] = str(reason)
            settings.remove(setting)
            continue
        if found and found[1] is not None:
            setting.changes.append(found[0].mean_iteration() / alone.mean_iteration() - 1)
            setting.conversions.append(found[1])
    return True


def point(setting):
    return {"kind": setting.kind, "setting": setting.label, "slowdown": interval(setting.changes),
            "conversion": interval(setting.conversions), **({"wrong_results": setting.wrong} if setting.kind == "baseline" else {})}


def main():
    measuring = Measuring("frontier", __doc__.splitlines()[0])
    iterations = iterations_for(measuring, SCHEDULE, 2 if measuring.quick else 3)
    if iterations is None:
        return measuring.print_result({})
    missing = {}
    default, *others = settings_of_weft(measuring)
    settings = [default, *baselines(measuring, iterations, missing), *others]  # in the order of worth: time may run out
    for number in range(ROUNDS):
        if number and not measuring.has_time(len(settings) + 1):
            break
        if not run_round(measuring, iterations, settings, missing):
            break
    missing.update({setting.label: "no run was completed in time" for setting in settings if not setting.changes})
    points = [point(setting) for setting in settings if setting.changes]
    return measuring.print_result({"schedule": SCHEDULE, "iterations": iterations, "points": points, "missing": missing} if points else {})


if __name__ == "__main__":
    sys.exit(main())
