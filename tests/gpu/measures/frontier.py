#!/usr/bin/env python3
"""Conversion against slowdown: Weft with several slice caps and budgets, and the baselines, with the same training and fill job.

Started by scripts/gpu-proof. Every point is a number of pairs of runs, without and with; the slowdown is that of neighbours. Prints one
JSON object; see README.md for its values.
"""
import subprocess
import sys

from baselines import BASELINES, unit_alone, unit_ends, units_in_last
from mps import Unavailable
from numbers_of_runs import changes, interval
from training_runs import Measuring, iterations_for

SCHEDULE = "1f1b"
SLICES = ("300us", "1ms", "100us", "3ms")  # most worth knowing first
BUDGETS = ("0.2", "5")  # per cent
BUDGET_OPTION = "WEFT_SLOWDOWN_BUDGET"


def settings_of_weft(measuring):
    """[(label, options of weft run)], the default first; slice caps are tried without a budget, which would hide what they cost."""
    options = subprocess.run([measuring.programs / "bin/weft", "config"], stdout=subprocess.PIPE, universal_newlines=True,
                             timeout=30, check=True).stdout
    has_budget = BUDGET_OPTION in options
    unlimited = ("--set", f"{BUDGET_OPTION}=off") if has_budget else ()
    settings = [("default", ())]
    settings += [(f"slice {cap}", ("--slice", cap, *unlimited)) for cap in (SLICES[:2] if measuring.quick else SLICES)]
    if has_budget and not measuring.quick:
        settings += [(f"budget {budget} %", ("--set", f"{BUDGET_OPTION}={budget}%")) for budget in BUDGETS]
    return settings


def pairs(measuring, iterations, label, repeats, with_it):
    """Runs (without, with) up to `repeats` times, in alternating order; only whole pairs."""
    found = []
    while len(found) < repeats and measuring.has_time(2):
        makers = [lambda: measuring.run("without", SCHEDULE, iterations), lambda: with_it(label)]
        if len(found) % 2 == 0:
            without, filled = (make() for make in makers)
        else:
            filled, without = (make() for make in reversed(makers))
        if without is None or filled is None:
            break
        found.append((without, filled))
    return found


def point(kind, label, found, conversions):
    without, filled = ([run.mean_iteration() for run in runs] for runs in zip(*found))
    return {"kind": kind, "setting": label, "slowdown": interval(changes(filled, without)), "conversion": interval(conversions)}


def weft_point(measuring, iterations, label, options, repeats):
    found = pairs(measuring, iterations, label.replace(" ", "-").replace("-%", ""), repeats,
                  lambda name: measuring.run(name, SCHEDULE, iterations, "fill", options))
    conversions = [filled.conversion() for _, filled in found]
    return point("weft", label, found, [value for value in conversions if value is not None]) if found else None


def baseline_point(measuring, iterations, name, repeats, alone, idle_per_iteration):
    """Fill work per iteration, in seconds alone, over the idle seconds that an iteration has without fill."""
    conversions, wrong = [], 0

    def run(label):
        nonlocal wrong
        folder = measuring.work / f"{label}-{len(conversions)}"
        folder.mkdir()
        with BASELINES[name](measuring, folder) as (environment, reports):
            trained = measuring.run(label, SCHEDULE, iterations, environment=environment)
            if trained is None:
                return None
            ends, errors = unit_ends(reports())
        wrong += errors
        units = sum(units_in_last(one, 1e9 * sum(trained.seconds)) for one in ends)
        conversions.append(units / len(trained.seconds) * alone / idle_per_iteration)
        return trained

    found = pairs(measuring, iterations, name, repeats, run)
    if not found:
        return None
    return {**point("baseline", name, found, conversions[:len(found)]), "wrong_results": wrong}


def idle_seconds(measuring, iterations):
    """Idle seconds of one iteration, of all ranks that share what a baseline fills, from an observed run; None when it failed."""
    run = measuring.run("observe", SCHEDULE, iterations, "observe")
    if run is None:
        return None
    return run.read_summary(measuring.programs)["total"]["idle_share"] * run.mean_iteration() * run.ranks()


def main():
    measuring = Measuring("frontier", __doc__.splitlines()[0])
    repeats = 2 if measuring.quick else 5
    iterations = iterations_for(measuring, SCHEDULE, 2 if measuring.quick else 3)
    idle = idle_seconds(measuring, iterations) if iterations else None
    if idle is None:
        return measuring.print_result({})
    points, missing = [], {}

    def add(label, found):
        if found:
            points.append(found)
        else:
            missing[label] = "no pair of runs was completed"

    # The default first, then what it is compared with, then the other settings: time may run out.
    default, *others = settings_of_weft(measuring)
    add(default[0], weft_point(measuring, iterations, *default, repeats))
    try:
        alone = unit_alone(measuring, 3)
        for name in BASELINES:
            try:
                add(name, baseline_point(measuring, iterations, name, min(repeats, 3), alone, idle))
            except Unavailable as reason:
                missing[name] = str(reason)
    except (Unavailable, subprocess.TimeoutExpired) as reason:
        missing.update({name: str(reason) for name in BASELINES})
    for label, options in others:
        add(label, weft_point(measuring, iterations, label, options, repeats))
    return measuring.print_result({"schedule": SCHEDULE, "iterations": iterations, "points": points, "missing": missing} if points else {})


if __name__ == "__main__":
    sys.exit(main())
