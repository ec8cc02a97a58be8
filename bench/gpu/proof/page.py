"""The page of a run: the results file as Markdown for a reader. Called by main.py; pure: an object in, text out.

Every measure of docs/results/README.md has its line, also when this run could not answer it. Nothing is rounded to look better:
intervals are shown as they are.
"""

from . import behaviours
from . import constants as constants_of
from . import decisions
from .environment import HARDWARE_QUEUES

ABSENT = "not measured"


def _percent(share, digits=2):
    return ABSENT if share is None else f"{100 * share:.{digits}f} %"


def _microseconds(nanoseconds):
    return ABSENT if nanoseconds is None else f"{nanoseconds / 1000:.1f} us"


def _interval(value, digits=2):
    """"+0.31 % (0.12 to 0.50, 5 runs)" from {"mean", "low", "high", "repeats"}, shares as per cent."""
    if not value or value.get("mean") is None:
        return ABSENT
    text = _percent(value["mean"], digits)
    if value.get("low") is None:
        return f"{text} ({value['repeats']} run, no interval)"
    return f"{text} ({100 * value['low']:.{digits}f} to {100 * value['high']:.{digits}f}, {value['repeats']} runs)"


def _cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def _table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows])


def _at(tree, *keys):
    """The value under nested keys, None when one is missing."""
    for key in keys:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def _head(result):
    environment = result["environment"]
    device = environment["devices"][0]
    where = ("**A simulated run: these numbers say nothing about hardware.**" if result["simulated"] else
             f"On hardware: {len(environment['devices'])} x {device['name']}.")
    return f"# Weft on {device['name']}, {result['started'][:10]}, commit {environment['commit'][:12]}\n\n{where}"


def _version(number):
    """13000 and 22809 as the libraries give them, unknown as a word."""
    return ABSENT if number is None else str(number)


def _hardware_queues(steps):
    values = {step["environment"][HARDWARE_QUEUES] for step in steps
              if HARDWARE_QUEUES in step.get("environment", {}) and step["feeds"] != "probe"}
    return f"{', '.join(sorted(values))} in trainings with fill, elsewhere as found" if values else "as found"


def _mps(verdict):
    """The verdict of the first step that wanted MPS."""
    if verdict is None:
        return "not tried"
    return "its clients work: 16 hardware queues for those that compute, 4 for sleeping peers" if verdict["usable"] else f"not used: {verdict['reason']}"


def _environment(result):
    facts = result["environment"]
    device = facts["devices"][0]
    rows = [("GPU", f"{device['name']}, compute capability {device['compute_capability']}, {device['multiprocessors']} multiprocessors, "
                    f"{device['memory_bytes'] / 2**30:.0f} GiB; {len(facts['devices'])} in all"),
            ("driver (CUDA version)", _version(facts["driver_cuda"])), ("CUDA runtime", _version(facts["cuda_runtime"])),
            ("NCCL", _version(facts["nccl"])),
            ("PyTorch", f"{facts['torch']} (CUDA {facts['torch_cuda']})" if facts["torch"] else f"none: {facts['torch_missing']}"),
            ("Weft", facts["commit"] + (f", programs of {facts['bundle_commit']}" if facts["bundle_commit"] else "")),
            (HARDWARE_QUEUES, _hardware_queues(result["steps"])), ("MPS", _mps(facts.get("mps"))),
            ("system", f"Linux {facts['kernel']}, {facts['glibc']}, Python {facts['python']}, {facts['cpus']} CPUs")]
    for card in facts["nvidia_smi"][:1]:
        rows.append(("clocks and power, as found", f"driver {card['driver_version']}, SM {card['clocks.sm']} of {card['clocks.max.sm']}, "
                     f"memory {card['clocks.mem']}, {card['power.draw']} of {card['power.limit']}, {card['temperature.gpu']} C, "
                     f"{card['pstate']}, MIG {card['mig.mode.current']}"))
    return "## Where\n\n" + _table(("", ""), rows)


def _steps(result):
    summary = ", ".join(f"{number} {status}" for status, number in result["counts"].items() if number)
    rows = [(step["name"] + (f" (commit {step['commit'][:12]})" if "commit" in step else ""), step["status"], f"{step['seconds']:.1f} s",
             step["reason"]) for step in result["steps"]]
    return f"## Steps\n\n`--{result['mode']}`, {result['seconds']:.0f} s: {summary}.\n\n" + _table(("step", "how it ended", "time", "why"), rows)


def _resumed(resumed):
    """The difference of two quantiles of one run each: without both it says little."""
    both = [_at(resumed, run, "p99_ns") for run in ("with_fill", "without_fill")]
    text = _microseconds(resumed.get("p99_ns"))
    return text if None in both else f"{text} ({_microseconds(both[0])} with fill, {_microseconds(both[1])} without)"


def _resumed_row(resumed, most=300_000):
    """Not judged where the training itself takes longer than a slice to go on."""
    p99, without = resumed.get("p99_ns"), _at(resumed, "without_fill", "p99_ns")
    unsteady = without is not None and without > most
    return ("yield latency, p99", "at most one slice, 300 us", _resumed(resumed),
            "not known: as long without fill" if unsteady else _reached(p99, lambda value: value <= most))


def _measures(result):
    measures = result["measures"]
    training, accuracy = _at(measures, "training", "values") or {}, _at(measures, "accuracy", "values") or {}
    recovery = _at(measures, "recovery", "values") or {}
    detection, resumed = accuracy.get("detection_latency") or {}, accuracy.get("yield_latency") or {}
    rows = [("slowdown, mean over schedules", _percent(_at(training, "slowdown", "mean"))),
            ("slowdown, worst schedule", _percent(_at(training, "slowdown", "worst"))),
            ("overhead with fill off (observing), mean", _percent(_at(training, "overhead_observing", "mean"))),
            ("overhead with fill off, worst schedule", _percent(_at(training, "overhead_observing", "worst"))),
            ("losses bit-identical", {True: "yes", False: "NO"}.get(training.get("losses_identical"), ABSENT)),
            ("coverage", _percent(accuracy.get("coverage"))), ("precision", _percent(accuracy.get("precision"))),
            ("report error (idle share)", _percent(accuracy.get("report_error"))),
            ("report error, worst rank", _percent(accuracy.get("report_error_worst_rank"))),
            ("detection latency, p50", _microseconds(detection.get("p50_ns"))),
            ("detection latency, p99", _microseconds(detection.get("p99_ns"))),
            ("yield latency, p50", _microseconds(resumed.get("p50_ns"))), ("yield latency, p99", _resumed(resumed)),
            ("forecast error before a change, median", _percent(recovery.get("forecast_error_before"))),
            ("iterations to recover after a change", ABSENT if not recovery else
             "not within the run" if recovery["iterations_to_recover"] is None else recovery["iterations_to_recover"])]
    text = "## Measures\n\n" + _table(("measure", "value"), rows)
    beds = sorted({output["test_bed"] for output in measures.values() if output.get("test_bed")})
    if beds:
        text += "\n\nTest bed: " + "; ".join(beds) + "."
    failed = [f"{name}: {run}" for name, output in measures.items() for run in output.get("failed_runs", [])]
    if failed:
        text += "\n\nRuns that failed:\n\n" + "\n".join(f"- {_cell(run)}" for run in failed)
    schedules = training.get("schedules") or {}
    if schedules:
        text += "\n\nBy schedule, with 95 % intervals:\n\n" + _table(
            ("schedule", "iteration", "slowdown", "overhead observing", "idle", "conversion", "forecast error", "units (wrong)"),
            [(name, f"{1000 * values['iteration_seconds']['mean']:.2f} ms", _interval(values["slowdown"]),
              _interval(values["overhead_observing"], 3), _interval(values["idle_share"], 1), _interval(values["conversion"], 1),
              _interval(values["forecast_error"], 1), f"{values['fill_units']} ({values['fill_units_wrong']})")
             for name, values in schedules.items()])
        text += "\n\n" + _table(("schedule", *(name for name, _, _ in _SCHEDULE_EXTRAS), "a slice alone, p50 and p99"),
                               [(name, *(_interval(values.get(key), digits) for _, key, digits in _SCHEDULE_EXTRAS), _slice(values.get("slice_alone")))
                                for name, values in schedules.items()])
    return text


def _slice(lengths):
    return f"{_microseconds(lengths['p50_ns'])}, {_microseconds(lengths['p99_ns'])}" if lengths and lengths["samples"] else ABSENT


# (name, key in a schedule's values)
_SCHEDULE_EXTRAS = (("slowdown of medians", "slowdown_of_medians", 2), ("overhead observing, of medians", "overhead_observing_of_medians", 3),
                    ("slowdown as Weft reports it, all ranks", "slowdown_as_reported", 2),
                    ("conversion in bubbles of 20 ms and more", "conversion_20ms", 1),
                    ("conversion, without control iterations", "conversion_of_filled_iterations", 1),
                    ("conversion, whole run with its start", "conversion_whole_run", 1))


def _reached(value, good):
    return ABSENT if value is None else "yes" if good(value) else "NO"


def _hung(result):
    """How many steps, and runs of a measure, were stopped although they had their time; that the time was over, or that a run was too
    slow for it, is no hang."""
    steps = sum("stopped after" in step["reason"] for step in result["steps"])
    return steps + sum("stopped after" in run for output in result["measures"].values() for run in output.get("failed_runs", []))


_SANITIZERS = ("memcheck", "racecheck", "synccheck")


def _sanitizers(words):
    """"3 of 4 programs clean, 1 out of time"; what was not checked to its end is no report and not clean."""
    others = sorted(set(words) - {"clean"})
    return ", ".join([f"{words.count('clean')} of {len(words)} programs clean", *(f"{words.count(word)} {word}" for word in others)])


def _goals(result):
    """Weft's goals on hardware, each judged by the worst schedule."""
    measures = result["measures"]
    training, accuracy = _at(measures, "training", "values") or {}, _at(measures, "accuracy", "values") or {}
    schedules = list((training.get("schedules") or {}).values())

    def worst(key, choose):
        known = [values[key] for values in schedules if _at(values, key, "mean") is not None]
        return choose(known, key=lambda value: value["mean"]) if known else None

    def change_row(goal, wanted, value, good):
        """A difference between runs that were made once says nothing: the machine's own drift is in it."""
        once = value is not None and value["repeats"] < 2
        return (goal, wanted, _interval(value), "not known: made once" if once else _reached(_at(value, "mean"), good))

    overhead, slowdown, conversion = worst("overhead_observing_of_medians", max), worst("slowdown_of_medians", max), worst("conversion_20ms", min)
    detection, resumed = _at(accuracy, "detection_latency", "p50_ns"), accuracy.get("yield_latency") or {}
    identical = [output["losses_identical"] for output in [training, *result["pytorch"].values()] if output.get("losses_identical") is not None]
    sanitized = [word for name, output in result["cases"].items() if name in _SANITIZERS for word in (output.get("values") or {}).values()]
    hung = _hung(result)
    rows = [("losses bit-identical, PyTorch's too", "all", f"{sum(identical)} of {len(identical)}", _reached(all(identical) if identical else None, bool)),
            ("no hang", "0", hung, "yes" if hung == 0 else "NO"),
            ("no sanitizer report", "none", _sanitizers(sanitized), _reached(None if not sanitized or "report" not in sanitized and set(sanitized) != {"clean"}
                                                                             else "report" not in sanitized, bool)),
            change_row("fill off: iteration time", "within 0.1 %", overhead, lambda value: abs(value) <= 0.001),
            ("conversion, bubbles of 20 ms and more", "at least 80 %", _percent(_at(conversion, "mean"), 1),
             _reached(_at(conversion, "mean"), lambda value: value >= 0.80)),
            change_row("fill on: slowdown", "at most 0.5 %", slowdown, lambda value: value <= 0.005),
            ("detection latency, p50", "at most 20 us", _microseconds(detection), _reached(detection, lambda value: value <= 20_000)),
            _resumed_row(resumed)]
    return "## Goals\n\n" + _table(("goal", "wanted", "found", "reached"), rows)


def _frontier(result):
    values = _at(result, "measures", "frontier", "values")
    if not values:
        return "## Conversion against slowdown\n\n" + ABSENT.capitalize() + "."
    rows = [("Weft" if point["kind"] == "weft" else "baseline", point["setting"].replace("_", " "), _interval(point["conversion"], 1),
             _interval(point["slowdown"])) for point in sorted(values["points"], key=lambda point: point["slowdown"]["mean"])]
    text = (f"## Conversion against slowdown\n\nSchedule {values['schedule']}. A baseline fills all the time, so its conversion counts work "
            "beside the training's own kernels too and may pass 100 %.\n\n" + _table(("", "setting", "conversion", "slowdown"), rows))
    for name, reason in values["missing"].items():
        text += f"\n\nNot measured: {name.replace('_', ' ')} ({reason})."
    return text


def _decisions(result):
    def words(found):
        return "; ".join(f"{where}: {_yes(answer)}" if where else _yes(answer) for where, answer in found)
    rows = [(question, words(found), decides) for question, decides, found in decisions.answers(result["probes"])]
    return "## The first questions\n\n" + _table(("question", "answer", "what it decides"), rows)


def _facts(result):
    lines = [f"- **{name}**: {output.get('fact', 'no fact given')}" for name, output in sorted(result["probes"].items())]
    return "## Probes\n\n" + ("\n".join(lines) if lines else ABSENT.capitalize() + ".")


def _plain(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cases(result):
    text = "## Cases\n\n"
    rows = []
    for name, output in result["cases"].items():
        values = output.get("values") or {}
        rows.append((name, {True: "yes", False: "NO"}.get(output.get("holds"), ABSENT), "; ".join(output.get("notes", [])),
                     ", ".join(f"{key} {_plain(value)}" for key, value in values.items() if isinstance(value, (int, float)))))
    return text + (_table(("case", "holds", "notes", "values"), rows) if rows else ABSENT.capitalize() + ".")


def _or_absent(value):
    return ABSENT if value is None else str(value)


def _yes(value):
    return {True: "yes", False: "NO"}.get(value, ABSENT)


def _pytorch_row(name, output):
    """The findings of a comparison; a problem is what made its step fail."""
    problems, profiled = output.get("problems"), output.get("profiled_kernels") or {}
    remarks = (problems or []) + [f"filling stopped: {reason}" for reason in output.get("stopped", [])]
    return (name, _yes(output.get("losses_identical")), ABSENT if problems is None else _yes(not problems), _or_absent(output.get("bubbles")),
            _percent(output.get("idle_share"), 1), _percent(output.get("conversion"), 1),
            f"{_or_absent(output.get('fill_units'))} ({_or_absent(output.get('fill_units_wrong'))})",
            _percent(output.get("iteration_time_change")), ", ".join(str(profiled[run]) for run in ("plain", "weft") if run in profiled),
            "; ".join(remarks))


def _pytorch(result):
    rows = [_pytorch_row(name, output) for name, output in result["pytorch"].items()]
    heading = ("script", "losses bit-identical", "as expected", "bubbles", "idle", "conversion", "units (wrong)", "iteration time",
               "profiled kernels without, with Weft", "remarks")
    text = "## PyTorch\n\n"
    if rows and result["simulated"]:
        text += "PyTorch's kernels write nothing on a simulated GPU, so there are no losses to compare.\n\n"
    elif rows and len(result["environment"]["devices"]) == 1:
        text += ("The ranks share one GPU: one rank's bubble is another's compute, so conversion and iteration times here say little about "
                 "ranks that have a GPU each.\n\n")
    return text + (_table(heading, rows) if rows else ABSENT.capitalize() + ".")


def _constants(result, constants):
    rows = [(row["name"], f"{row['assumed']:g} {row['unit']}", ABSENT if row["measured"] is None else
             f"{row['measured']:g} {row['unit']}" + (" over sockets: not taken" if row["over_sockets"] else ""),
             "" if row["ratio"] is None else f"{row['ratio']:.2f}", row["probe"], row["source"])
            for row in constants_of.compared(constants, result["simulator_constants"])]
    text = "## Assumptions of the simulated GPU\n\n" + _table(
        ("behaviour", "assumed", "found", "as assumed", "probe"),
        [(row["behaviour"], row["expected"], ABSENT if row["found"] is None else row["found"],
          {True: "yes", False: "NO", None: ""}[row["as_assumed"]], row["probe"]) for row in behaviours.compared(result["probes"])]) + "\n\n"
    if not rows:
        return text + "No constant has a probe."
    return text + _table(("constant", "assumed", "measured", "ratio", "probe", "source of the assumption"), rows)


def render(result, constants):
    parts = [_head(result), _goals(result), _decisions(result), _measures(result), _frontier(result), _facts(result), _cases(result), _pytorch(result),
             _constants(result, constants), _environment(result), _steps(result)]
    return "\n\n".join(parts) + "\n"
