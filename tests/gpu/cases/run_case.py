#!/usr/bin/env python3
"""Runs bubble_case without Weft, then under `weft run --fill`, and holds Weft's trace against what really happened.

Called by CTest (see CMakeLists.txt) and by scripts/gpu-proof, with only Python's standard library. Prints one JSON object
on one line; what does not hold is said on stderr. Exit code: 0 all holds, 1 something does not, 77 there is no device.
It starts only processes that it waits for, each with a time limit.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench/gpu"))
from proof import simulator  # noqa: E402

# The arguments of bubble_case, and the pattern by which Weft is to see its bubbles.
VARIANTS = {
    "event": (["--wait", "event"], "event_wait"),
    "early": (["--wait", "early"], "event_wait"),
    "in-stream": (["--wait", "in-stream", "--lengths", "20,35,10,10"], "inline_group"),
    # So few groups for each wait of the host that the stream is taken for one of communication.
    "in-stream-few": (["--wait", "in-stream"], "inline_group"),
    "host": (["--wait", "host"], "host_wait"),
    "two-streams": (["--wait", "two-streams"], "event_wait"),
    "shorter": (["--wait", "event", "--shorten-at", "14"], "event_wait"),
    "abort": (["--wait", "event", "--abort"], "event_wait"),
}
LEARNING = 5  # iterations until the rhythm is known and slots have forecasts
SHORTEST = 2_000_000  # ns; shorter idle times are gaps between kernels, not bubbles of this case
SLICE = 300_000  # ns; the longest slice, as Weft is told below
HELD_UP = re.compile(r"a slice of .* did not end within")  # why filling stopped: a slice waited for others
NO_DEVICE = 77


class Limits:
    """How near the report has to be to the truth. A simulated GPU shares its processors with whatever else runs on the machine, which
    may hold Weft's thread up for many milliseconds: there, only what is so for most bubbles is judged."""

    def __init__(self, simulated):
        self.agreement = 0.75 if simulated else 0.97  # median over bubbles: common time of report and truth, over either's
        self.length = 0.25 if simulated else 0.02  # median relative error of a bubble's length
        self.share = None if simulated else 0.98  # of coverage and precision: two polls of a bubble of 10 ms are 1 %
        self.worst_yield = None if simulated else 2 * SLICE
        self.p99_yield = None if simulated else SLICE
        self.may_stop = HELD_UP if simulated else None  # a slice that was held up as well


def run(command, environment, limit):
    """Runs to the end and returns the exit code; ends the whole process group when the time is over."""
    process = subprocess.Popen(command, env=environment, start_new_session=True, stdout=sys.stderr)
    try:
        return process.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        print(f"run_case: stopped after {limit} s: {' '.join(command)}", file=sys.stderr)
        return 124


def environment_for(arguments, log):
    environment = dict(os.environ)
    if arguments.simulated:
        environment.update(SIMGPU_DEVICES="1", SIMGPU_LOG=log)
    libraries = [os.path.join(arguments.build, "lib", "stand_in"), environment.get("LD_LIBRARY_PATH")]
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, libraries))
    return environment


def read_lines(directory):
    """All records. The process that tried the fill job may still be writing its log: half a line at the end is none."""
    lines = []
    for name in sorted(os.listdir(directory)):
        if name.endswith(".jsonl"):
            with open(os.path.join(directory, name)) as file:
                lines += [json.loads(line) for line in file if line.endswith("\n")]
    return lines


def overlap(a, b):
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def compare_bubbles(truth, lines):
    """Coverage, precision and length error of the reported bubbles, once the detector has learned the rhythm."""
    real = [(b["opened"], b["closed"]) for b in truth if b["iteration"] >= LEARNING and b["closed"] - b["opened"] >= SHORTEST]
    window = (real[0][0] - SHORTEST, real[-1][1] + SHORTEST)
    found = [(b["opened"], b["closed"]) for b in lines
             if b["type"] == "bubble" and b["closed"] - b["opened"] >= SHORTEST and overlap((b["opened"], b["closed"]), window)]
    common = [sum(overlap(one, other) for other in found) for one in real]
    errors, agreements = [], []
    for one in real:
        best = max(found, key=lambda other: overlap(one, other), default=(0, 0))
        errors.append(abs((best[1] - best[0]) - (one[1] - one[0])) / (one[1] - one[0]))
        agreements.append(overlap(one, best) / (max(one[1], best[1]) - min(one[0], best[0])))
    return {
        "bubbles_real": len(real),
        "bubbles_reported": len(found),
        "coverage": sum(common) / sum(end - begin for begin, end in real),
        "precision": sum(common) / max(1, sum(end - begin for begin, end in found)),
        "agreement_median": statistics.median(agreements),
        "length_error_median": statistics.median(errors),
        "length_error_worst": max(errors),
        "real_idle_ns": sum(end - begin for begin, end in real),
    }


def late(report):
    return [b["next_late_ns"] for b in report["bubbles"] if b["iteration"] >= LEARNING]


def memory_changes(free):
    """How often the free memory was another than before, from the amounts after each iteration. The first ones may still hold the
    context of the process that tried the fill job: it says that it is done before the driver has taken it down."""
    return len(set(free[LEARNING:])) - 1


def values_of(plain, filled, lines, log_lines):
    values = compare_bubbles(filled["bubbles"], lines)
    slices = [line for line in lines if line["type"] == "slice"]
    summary = next((line for line in lines if line["type"] == "summary"), {})
    first = min((b["opened"] for b in filled["bubbles"] if b["iteration"] >= LEARNING), default=0)
    done = sum(line["alone"] for line in slices if line["launched"] >= first)
    usual = statistics.median(late(plain))
    values.update({
        "identical": plain["checksum"] == filled["checksum"],
        "conversion": done / values["real_idle_ns"],
        "units": summary.get("fill_units", 0),
        "units_wrong": summary.get("fill_units_wrong"),
        "dropped_records": summary.get("dropped_records"),
        "filling_stopped": summary.get("filling_stopped"),
        "reason": summary.get("reason", ""),
        # Without the collective at the end of an iteration, which is long where the machine is busy.
        "patterns": sorted({line["pattern"] for line in lines if line["type"] == "bubble" and line["cause"] != "collective"
                            and line["iteration"] > LEARNING and line["closed"] - line["opened"] >= SHORTEST}),
        "yield_median_ns": statistics.median(late(filled)) - usual,
        "yield_p99_ns": percentile(late(filled), 0.99) - usual,
        "yield_worst_ns": max(late(filled)) - usual,
        "iteration_time_change": statistics.median(filled["iteration_seconds"]) / statistics.median(plain["iteration_seconds"]) - 1,
        "memory_changes": memory_changes(filled["free_memory"]),
        "hazards": sum(line["type"] == "hazard" and line.get("thread", "").startswith("weft") for line in log_lines),
        "abort_seconds": filled["abort_seconds"],
    })
    return values


def what_does_not_hold(values, limits, pattern, shortened):
    def expect(holds, text):
        if not holds:
            wrong.append(text)

    wrong = []
    expect(values["identical"], "the main job computed something else with Weft than without")
    expect(values["units"] > 0, "no unit of fill work was done")
    expect(values["units_wrong"] == 0, f"{values['units_wrong']} units of fill work are wrong")
    expect(values["dropped_records"] == 0, f"{values['dropped_records']} records were dropped")
    may_stop = limits.may_stop is not None and limits.may_stop.search(values["reason"]) is not None
    expect(values["filling_stopped"] is False or may_stop, f"filling stopped: {values['reason']}")
    # Now and then the host is late, and nobody waits for a group yet.
    seen = [name for name in values["patterns"] if name != "posted_early"]
    expect(seen == [pattern], f"bubbles were seen as {values['patterns']}, not as {pattern}")
    expect(values["agreement_median"] >= limits.agreement, f"report and truth have only {values['agreement_median']:.3f} in common")
    if limits.share is not None:
        expect(values["coverage"] >= limits.share, f"only {values['coverage']:.3f} of the idle time was reported")
        expect(values["precision"] >= limits.share, f"only {values['precision']:.3f} of the reported time was idle")
    expect(values["length_error_median"] <= limits.length, f"lengths are off by {values['length_error_median']:.3f}")
    expect(values["yield_median_ns"] <= SLICE, f"the next kernel came {values['yield_median_ns'] / 1e3:.0f} us late")
    if limits.worst_yield is not None and shortened:  # forecasts are wrong then: one slice runs, one waits
        expect(values["yield_worst_ns"] <= limits.worst_yield, f"a kernel came {values['yield_worst_ns'] / 1e3:.0f} us late")
    if limits.p99_yield is not None and not shortened:
        expect(values["yield_p99_ns"] <= limits.p99_yield, f"1 % came {values['yield_p99_ns'] / 1e3:.0f} us late or more")
    expect(values["memory_changes"] == 0, "the amount of free device memory changed between iterations")
    expect(values["hazards"] == 0, f"{values['hazards']} calls of Weft stalled beside a spinning kernel")
    expect(values["abort_seconds"] is None or values["abort_seconds"] < 4, "the aborted receive went on spinning")
    return wrong


def run_variant(arguments, directory):
    """Both runs; returns the exit code and, when both came through, the values."""
    told, pattern = VARIANTS[arguments.variant]
    log = os.path.join(directory, "log")
    trace = os.path.join(directory, "trace")
    for old in (log, trace, os.path.join(directory, "plain-log")):
        shutil.rmtree(old, ignore_errors=True)
    os.makedirs(log)
    case = [os.path.join(arguments.build, "bin", "bubble_case"), *told, "--iterations", str(arguments.iterations)]
    plain, filled = os.path.join(directory, "plain.json"), os.path.join(directory, "filled.json")
    os.makedirs(os.path.join(directory, "plain-log"))
    environment = environment_for(arguments, os.path.join(directory, "plain-log"))
    code = run(case + ["--report", plain], environment, 60)
    if code != 0:
        return code, None
    fill = arguments.fill or os.path.join(arguments.build, "lib", "weft", "fill_matmul.so") + ("" if arguments.simulated else ":size=256")
    weft = [os.path.join(arguments.build, "bin", "weft"), "run", "--fill", fill, "--memory", "256MiB", "--slice", f"{SLICE // 1000}us",
            "--output", trace, "--"]
    code = run(weft + case + ["--report", filled], environment_for(arguments, log), 90)
    if code != 0:
        return code, None
    with open(plain) as one, open(filled) as other:
        without, with_weft = json.load(one), json.load(other)
    values = values_of(without, with_weft, read_lines(trace), read_lines(log))
    wrong = what_does_not_hold(values, Limits(with_weft["simulated"]), pattern, arguments.variant == "shorter")
    for text in wrong:
        print(f"run_case: {arguments.variant}: {text}", file=sys.stderr)
    print(json.dumps({"case": arguments.variant, "device": with_weft["device"], "simulated": with_weft["simulated"],
                      "holds": not wrong, "values": values}))
    return (1 if wrong else 0), values


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("--build", required=True, help="build folder: bin/ and lib/ are in it")
    parser.add_argument("--simulated", action="store_true", help="on a simulated GPU: that of the build, or where it is started on one, that one")
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--fill", help="fill job; the checked matrix products otherwise")
    parser.add_argument("--output", help="folder in which reports, traces and logs stay")
    arguments = parser.parse_args()
    if arguments.simulated:
        simulator.enter(pathlib.Path(arguments.build), [sys.executable, *sys.argv])
    arguments.build = os.path.abspath(arguments.build)
    if arguments.output:
        os.makedirs(arguments.output, exist_ok=True)
        return run_variant(arguments, arguments.output)[0]
    with tempfile.TemporaryDirectory() as directory:
        return run_variant(arguments, directory)[0]


if __name__ == "__main__":
    sys.exit(main())
