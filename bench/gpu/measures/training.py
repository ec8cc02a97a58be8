#!/usr/bin/env python3
"""Slowdown, overhead with fill off, conversion, forecast error: the example trainer without Weft, observed and filled.

Started by scripts/gpu-proof. The three kinds of run alternate, and a change is always that between neighbours: drifts of the
machine's clock do not count. Prints one JSON object; see README.md for its values.
"""
import sys

from numbers_of_runs import changes, interval, quantile
from training_runs import Measuring, iterations_for

MODES = ("none", "observe", "fill")
LONG = 20_000_000  # ns; bubbles of the size that the project is for
RUN_ON_SHARED_GPU = 8  # seconds; there is one rank to measure, and the machine drifts: short runs, and several rounds of them


def reported(rank):
    """The slowdown that Weft itself found on a rank, from iterations without fill in the same run; None when it found none."""
    return (rank.get("slowdown") or {}).get("estimate")


def known(values):
    return [value for value in values if value is not None]


def measured_schedule(measuring, schedule, iterations, repeats):
    """Runs the three modes `repeats` times; returns the values of one schedule, None when nothing could be compared."""
    rounds = []
    while len(rounds) < repeats and (measuring.has_time(len(MODES)) or not rounds):
        order = MODES if len(rounds) % 2 == 0 else tuple(reversed(MODES))
        runs = {mode: measuring.run(f"{schedule}-{mode}", schedule, iterations, mode) for mode in order}
        if None in runs.values():
            return values_of(measuring, rounds)
        rounds.append(runs)
    return values_of(measuring, rounds)


def values_of(measuring, rounds):
    if not rounds:
        return None
    seconds = {mode: [runs[mode].mean_iteration() for runs in rounds] for mode in MODES}
    medians = {mode: [runs[mode].median_iteration() for runs in rounds] for mode in MODES}
    totals = [runs["fill"].read_summary(measuring.programs)["total"] for runs in rounds]
    observed = [runs["observe"].read_summary(measuring.programs)["total"] for runs in rounds]
    numbers = [runs[mode].numbers for runs in rounds for mode in MODES]
    slices = [length for runs in rounds for length in runs["fill"].slice_lengths()]
    errors = [total["forecast_error"] for total in totals if total["forecast_error"] is not None]
    return {"iteration_seconds": interval(seconds["none"]),
            "slowdown": interval(changes(seconds["fill"], seconds["none"])),
            "overhead_observing": interval(changes(seconds["observe"], seconds["none"])),
            "idle_share": interval([total["idle_share"] for total in observed]),
            "slowdown_of_medians": interval(changes(medians["fill"], medians["none"])),
            "overhead_observing_of_medians": interval(changes(medians["observe"], medians["none"])),
            "slowdown_as_reported": interval(known(reported(rank) for runs in rounds for rank in runs["fill"].summary["ranks"])),
            "conversion": interval(known(runs["fill"].conversion() for runs in rounds)),
            "conversion_20ms": interval(known(runs["fill"].conversion(LONG) for runs in rounds)),
            "conversion_of_filled_iterations": interval(known((total["steady"] or {}).get("conversion_of_filled_iterations") for total in totals)),
            "conversion_whole_run": interval([total["conversion"] for total in totals]),
            "forecast_error": interval(errors),
            "losses_identical": all(one == numbers[0] for one in numbers),
            "slice_alone": {"p50_ns": quantile(slices, 0.50), "p99_ns": quantile(slices, 0.99), "samples": len(slices)},
            "fill_units": sum(total["fill_units"] for total in totals),
            "fill_units_wrong": sum(total["fill_units_wrong"] for total in totals),
            "dropped_records": sum(known(total["dropped_records"] for total in totals + observed))}


def over_schedules(schedules, key):
    means = [values[key]["mean"] for values in schedules.values()]
    return {"mean": sum(means) / len(means), "worst": max(means)}


def main():
    measuring = Measuring("training", __doc__.splitlines()[0])
    names = ("1f1b",) if measuring.quick else ("1f1b", "gpipe", "interleaved")
    seconds = RUN_ON_SHARED_GPU if measuring.shared_gpu else 3 if measuring.quick else 4
    iterations = iterations_for(measuring, names[0], seconds)
    schedules = {}
    for name in names if iterations else ():
        if schedules and not measuring.has_time(2 * len(MODES)):
            measuring.failures.append(f"{name}: out of time")
            continue
        values = measured_schedule(measuring, name, iterations, 5)
        if values is not None:
            schedules[name] = values
    if not schedules:
        return measuring.print_result({})
    sound = all(values["losses_identical"] and not values["fill_units_wrong"] for values in schedules.values())
    code = measuring.print_result({"iterations": iterations, "schedules": schedules,
                                   "slowdown": over_schedules(schedules, "slowdown"),
                                   "overhead_observing": over_schedules(schedules, "overhead_observing"),
                                   "losses_identical": sound})
    if not sound:
        print("training: losses differ or fill results are wrong", file=sys.stderr)
    return code if sound else 1


if __name__ == "__main__":
    sys.exit(main())
