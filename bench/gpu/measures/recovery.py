#!/usr/bin/env python3
"""Iterations to recover after a change: in the middle of a run all receives become half as long; how many iterations until the
forecasts are right again.

Started by scripts/gpu-proof. Runs the case `shorter` of tests/gpu/cases with the stand-in for NCCL, so the lengths are known. Prints
one JSON object; see README.md for its values.
"""
import json
import pathlib
import subprocess
import sys

import truth
from numbers_of_runs import quantile
from training_runs import Measuring, skip

CASE = pathlib.Path(__file__).resolve().parents[3] / "tests/gpu/cases/run_case.py"
RIGHT = 0.10  # a forecast within this share of the real length is right
IN_A_ROW = 3  # so many iterations with right forecasts are a recovery, not luck
SETTLED = 3  # iterations from the first forecast on, before the change counts
SHORTEST = 2_000_000  # ns; bubbles of the case are longer, gaps between its kernels are not


def errors_by_iteration(records):
    """{iteration: [relative errors of its forecasts]}, of bubbles of the case."""
    errors = {}
    for record in records:
        if record["type"] != "bubble" or record["forecast"] is None:
            continue
        length = record["closed"] - record["opened"]
        if length >= SHORTEST:
            errors.setdefault(record["iteration"], []).append(abs(record["forecast"]["median"] - length) / length)
    return errors


def recovery(errors):
    """{"before", "worst", "after", "iterations"}: median errors, and how many iterations after the change the forecasts were right
    again. None when no change is seen. The change is the first iteration whose error comes near the worst."""
    settled = sorted(errors)[SETTLED:]
    medians = {iteration: quantile(errors[iteration], 0.5) for iteration in settled}
    worst = max(medians.values(), default=0)
    if worst <= 2 * RIGHT:
        return None
    change = next(iteration for iteration in settled if medians[iteration] > worst / 2)
    after = [iteration for iteration in settled if iteration >= change]
    runs = (after[first:first + IN_A_ROW] for first in range(len(after) - IN_A_ROW + 1))
    recovered = next((run[0] for run in runs if all(medians[iteration] <= RIGHT for iteration in run)), None)
    return {"before": _median(errors, (iteration for iteration in settled if iteration < change)), "worst": worst,
            "after": _median(errors, (iteration for iteration in after if recovered is not None and iteration >= recovered)),
            "iterations": None if recovered is None else recovered - change}


def _median(errors, iterations):
    return quantile([error for iteration in iterations for error in errors[iteration]], 0.5)


def main():
    measuring = Measuring("recovery", __doc__.splitlines()[0])
    if not (measuring.programs / "bin/bubble_case").exists():
        skip("bubble_case is not among the programs")
    command = [sys.executable, CASE, "shorter", "--build", measuring.programs, "--output", measuring.work]
    command += ["--simulated"] if measuring.simulated else []
    try:
        # Its exit code says whether the case holds, which is asked elsewhere.
        subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=max(5.0, measuring.seconds_left()), check=False)
        records = [record for file in (measuring.work / "trace").glob("rank*.jsonl") for record in truth.read_lines(file)]
    except (OSError, subprocess.TimeoutExpired) as error:
        measuring.failures.append(str(error))
        return measuring.print_result({})
    errors = errors_by_iteration(records)
    found = recovery(errors)
    if found is None:
        measuring.failures.append(f"no change is seen in the forecasts of {len(errors)} iterations")
        return measuring.print_result({})
    return measuring.print_result({"forecast_error_before": found["before"], "forecast_error_worst": found["worst"],
                                   "forecast_error_after": found["after"], "iterations_to_recover": found["iterations"]})


if __name__ == "__main__":
    sys.exit(main())
