"""The ways to share a GPU that Weft is held against: each runs the same fill job all the time, next to the training.

Used by frontier.py. A baseline is a context in which training runs are made; what it starts is stopped when the context ends. Nothing
here changes a setting of the GPU; the MPS daemon is one of our own, in folders of our own.
"""

import contextlib
import os
import subprocess
import time

from mps import BELOW_NORMAL, Unavailable, tried

MEMORY = 256 << 20


def unit_ends(files):
    """Ends of the units (ns) in each of the report files, and how many results were wrong."""
    ends, wrong = [], 0
    for path in files:
        with open(path, encoding="utf-8") as file:
            fields = [line.split() for line in file if line.endswith("\n")]
        ends.append([int(end) for end, _ in fields])
        wrong += sum(correct == "0" for _, correct in fields)
    return ends, wrong


def units_in_last(ends, span):
    """Units that ended in the last `span` ns before the last one did."""
    return sum(end > ends[-1] - span for end in ends) if ends else 0


def unit_alone(measuring, seconds):
    """Seconds that one unit takes on the idle GPU; raises Unavailable when that cannot be measured."""
    report = measuring.work / "alone.units"
    done = subprocess.run([measuring.programs / "bin/measures/fill_loop", measuring.fill_job(), report, str(seconds), "0", str(MEMORY)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True, timeout=seconds + 60, check=False)
    ends = unit_ends([report])[0][0] if report.exists() else []
    if done.returncode != 0 or len(ends) < 10:
        raise Unavailable(f"the fill job does not run alone: {done.stderr.strip()[-200:]}")
    # The first units pay for what is made ready at first use.
    ends = ends[len(ends) // 5:]
    return 1e-9 * (ends[-1] - ends[0]) / (len(ends) - 1)


@contextlib.contextmanager
def low_priority_stream(measuring, folder):
    """A thread in each training process fills a stream of the lowest priority. Yields (environment of the training, reports)."""
    yield ({"LD_PRELOAD": str(measuring.programs / "bin/measures/low_priority_fill.so"), "BASELINE_FILL": measuring.fill_job(),
            "BASELINE_REPORT": str(folder)}, lambda: sorted(folder.glob("units.*")))


@contextlib.contextmanager
def _fill_process(measuring, folder, environment):
    report = folder / "units.0"
    process = subprocess.Popen([str(measuring.programs / "bin/measures/fill_loop"), measuring.fill_job(), str(report), "120", "0", str(MEMORY)],
                               env=dict(os.environ, **environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        give_up = time.monotonic() + 20
        while not (report.exists() and report.stat().st_size) and process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.02)
        if process.poll() is not None:
            raise Unavailable("the fill process ended at once")
        yield report
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def time_slicing(measuring, folder):
    """The fill job in a process of its own; the driver gives the processes turns."""
    if measuring.simulated:
        raise Unavailable("processes do not share a simulated GPU")
    with _fill_process(measuring, folder, {}) as report:
        yield {}, lambda: [report]


@contextlib.contextmanager
def mps(measuring, folder):
    """As time_slicing, under MPS, the fill process with priority below normal."""
    if measuring.simulated:
        raise Unavailable("the simulated GPU has no MPS")
    daemon = measuring.mps or tried(measuring.programs)
    try:
        with _fill_process(measuring, folder, {**daemon.environment, **BELOW_NORMAL}) as report:
            yield daemon.environment, lambda: [report]
    finally:
        if daemon is not measuring.mps:
            daemon.stop()


BASELINES = {"low_priority_stream": low_priority_stream, "time_slicing": time_slicing, "mps": mps}
