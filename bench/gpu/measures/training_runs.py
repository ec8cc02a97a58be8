"""Training runs for the measures: the example trainer on this machine's GPUs, without Weft, observed, filled, or next to a
baseline; what each run wrote is read back here.

Used by training.py, accuracy.py and frontier.py. Each run has a limit, and all of a measure's together: what was measured
until then counts. Everything a run writes is under the measure's own folder.
"""

import argparse
import atexit
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time

import mps
import truth

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from proof import environment as facts_of, processes  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RANKS = 4
WARM_UP = 8  # iterations at the start of each run whose times do not count: connections, the rhythm, those that Weft leaves unfilled
UNFILLED = 5  # the last of them, as Weft counts iterations, from the rhythm on
RUN_LIMIT = 60.0
SILENT = 10.0  # seconds without an iteration after which a run that is stopped is a hang
# Keeps a data-centre GPU busy; on the simulated GPU the trainer's own defaults do that.
REAL_SIZE = ("--size", "real")
# On a shared GPU one run follows another: with a quarter of the sequences a minute has some 200 iterations, whose bubbles are still tens
# of ms; and messages are a quarter as long, for which processors work, not links.
SHARED_SIZE = (*REAL_SIZE, "--batch", "1")
STAGE = 1  # the one that computes where all ranks share a GPU: it has bubbles before, between and after its work


def skip(reason):
    """Ends a measure that cannot be answered here."""
    print(json.dumps({"skipped": reason}))
    sys.exit(77)


class Measuring:
    """A measure: its options, the place, and the time it has."""

    def __init__(self, name, description):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--programs", type=pathlib.Path, required=True, help="bundle or build tree")
        parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for what the runs write")
        parser.add_argument("--quick", action="store_true", help="fewer schedules and repeats")
        parser.add_argument("--one-gpu", action="store_true", help="also where there are more: one stage computes, its peers sleep")
        parser.add_argument("--no-mps", action="store_true", help="ranks that share a GPU take turns, also where MPS could be started")
        parser.add_argument("--seconds", type=float, default=600, help="stop beginning runs after this")
        options = parser.parse_args()
        self.name, self.quick, self.programs = name, options.quick, options.programs.absolute()
        # scripts/gpu-proof says when it will stop this process; what was measured must be printed before.
        seconds = min(options.seconds, float(os.environ.get("GPU_PROOF_LIMIT", "inf")) - 10)
        self.deadline = time.monotonic() + seconds
        self.work = options.work.absolute() / name
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        devices = facts_of.device_facts(self.programs, os.environ).get("devices", [])
        if not devices:
            skip("there is no GPU")
        self.device = devices[0]["name"]
        self.simulated = facts_of.is_simulated(devices)
        # One GPU shows one stage's true bubbles, when the other stages only take their time.
        self.peers_sleep = options.one_gpu or len(devices) < RANKS
        self.shared_gpu = self.peers_sleep and not self.simulated  # simulated GPUs are one per process
        self.without_mps = ""  # why, where it could have been used
        self.mps = self._start_mps() if self.shared_gpu and not options.no_mps else None
        self.stage_time = None  # milliseconds that sleeping peers take, the same in all runs that are compared
        self.failures = []
        self._runs = 0
        self._trained = False
        self._longest = 0.0

    def _start_mps(self):
        """MPS for ranks that share a GPU: without it each waits for its turn, and a peer's pending receive takes turns too."""
        try:
            daemon = mps.tried(self.programs)
        except mps.Unavailable as reason:
            self.without_mps = str(reason)
            print(f"no MPS: {reason}", file=sys.stderr)
            return None
        atexit.register(daemon.stop)
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # so that a stop at the limit ends the daemon too
        return daemon

    def _give_mps_up(self, problem):
        """The first run under MPS has failed: this one and all later steps go on without."""
        self.without_mps = f"the first training under it failed: {problem}"
        mps.write_verdict(self.without_mps)
        atexit.unregister(self.mps.stop)
        self.mps.stop()
        self.mps = None

    def test_bed(self):
        """How the ranks were placed, for the reader of the numbers."""
        if not self.peers_sleep:
            return f"{RANKS} ranks, a GPU each"
        if self.simulated:
            return f"stage {STAGE} of {RANKS} computes, its peers sleep"
        return f"stage {STAGE} of {RANKS} computes, its peers sleep; on one GPU, {'under MPS' if self.mps else 'in turns'}" + (
            f" (no MPS: {self.without_mps})" if self.without_mps else "")

    def seconds_left(self):
        return self.deadline - time.monotonic()

    def has_time(self, runs=1):
        """Whether so many more runs like the longest so far will be done in time."""
        return self.seconds_left() > runs * (1.2 * self._longest + 1)

    def fill_job(self):
        return str(self.programs / "lib/weft/fill_matmul.so") + ("" if self.simulated else facts_of.FILL_ON_HARDWARE)

    def print_result(self, values):
        """The measure's one line. Runs that failed are part of it; without a value it is a failure."""
        print(json.dumps({"measure": self.name, "device": self.device, "simulated": self.simulated,
                          "test_bed": self.test_bed(), "values": values, "failed_runs": self.failures}))
        return 0 if values else 1

    def run(self, label, schedule, iterations, mode="none", options=(), environment=None, log=False):
        """Trains once; returns a Run, or None when it failed (which is noted). The first one is tried without MPS as well."""
        problem, run = self._train(label, schedule, iterations, mode, options, environment, log)
        if problem and self.mps and not self._trained:
            self._give_mps_up(problem)
            problem, run = self._train(label, schedule, iterations, mode, options, environment, log)
        if problem:
            self.failures.append(f"{label}: {problem}")
            return None
        self._trained = True
        return run

    def _train(self, label, schedule, iterations, mode, options, environment, log):
        """(what went wrong or "", the Run)"""
        self._runs += 1
        folder = self.work / f"{self._runs:03}-{label}"
        run = Run(folder, mode, STAGE if self.peers_sleep else None)
        command = [sys.executable, HERE / "ranks.py", str(RANKS), self.programs / "bin/trainer", "--schedule", schedule,
                   "--iterations", str(iterations), "--report", folder]
        command += [] if self.simulated else SHARED_SIZE if self.shared_gpu else REAL_SIZE
        if self.peers_sleep:
            command += ["--peers", "sleep", "--stage", str(STAGE)]
            command += ["--stage-time", ",".join(f"{time:.6g}" for time in self.stage_time)] if self.stage_time else []
        text = facts_of_text()
        command += ["--text", text] if text else []
        if mode != "none":
            told = ["--observe"] if mode == "observe" else ["--fill", self.fill_job(), "--memory", "256MiB"]
            command = [self.programs / "bin/weft", "run", "--quiet", "--output", run.trace, *told, *options, "--", *command]
        started = time.monotonic()
        problem = self._start(command, folder, self._environment(environment, log, folder))
        self._longest = max(self._longest, time.monotonic() - started)
        return problem or run.read(), run

    def _environment(self, more, log, folder):
        environment = dict(os.environ, GPU_PROOF_SHARED_GPU="1" if self.shared_gpu else "0", **(self.mps.environment if self.mps else {}), **(more or {}))
        if self.peers_sleep:
            environment["GPU_PROOF_RANK"] = str(STAGE)
        if log:
            (folder / "truth").mkdir(parents=True)
            if self.simulated:
                environment["SIMGPU_LOG"] = str(folder / "truth")
            else:
                environment["CUPTI_TRUTH_LOG"] = str(folder / "truth")
                environment["CUDA_INJECTION64_PATH"] = str(self.programs / "bin/measures/cupti_truth.so")
        return environment

    def _start(self, command, folder, environment):
        """Runs a command to its end in time; returns "" or what went wrong."""
        folder.mkdir(parents=True, exist_ok=True)
        limit = max(1.0, min(RUN_LIMIT, self.seconds_left()))
        with open(folder / "messages", "wb") as messages, open(folder / "progress", "wb") as progress:
            process = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                                       stdout=progress, stderr=messages, preexec_fn=processes.die_with_parent)
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                silent = time.time() - (folder / "progress").stat().st_mtime  # rank 0 prints each iteration
                process.terminate()  # ranks end with their launcher
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                return how_it_was_stopped(limit, silent)
        if code == 0:
            return ""
        lines = (folder / "messages").read_text(errors="replace").strip().splitlines()
        return f"exit code {code}: {lines[-1] if lines else ''}"


def how_it_was_stopped(limit, silent):
    """Only a run that had its time and went on no more is a hang."""
    if limit < RUN_LIMIT:
        return "out of time"
    return f"stopped after {limit:.0f} s, {silent:.0f} s without an iteration" if silent > SILENT else f"too slow for {limit:.0f} s"


def facts_of_text():
    """The text to learn from: the trainer's own default is a path of the machine that built it."""
    licence = HERE.parent.parent.parent / "LICENSE"
    return licence if licence.exists() else None


class Run:
    """The results of one training run."""

    def __init__(self, folder, mode, stage):
        self.folder, self.mode, self.trace, self.truth = folder, mode, folder / "trace", folder / "truth"
        self.stage = stage  # the only rank that computes; None: all do
        self.numbers, self.seconds, self.stage_time, self.summary = [], [], None, {}

    def read(self):
        """Reads the reports of all ranks and the summary; returns "" or what is wrong."""
        try:
            reports = [json.loads((self.folder / f"rank{rank}.json").read_text()) for rank in range(RANKS)]
        except (OSError, ValueError) as error:
            return f"no report of a rank: {error}"
        if self.stage is not None:
            reports = [reports[self.stage]]
        # The training's numbers: losses, and norms of the gradient where the trainer reports them.
        self.numbers = [[repr(number) for key in ("losses", "gradient_norms") for number in report.get(key, [])] for report in reports]
        self.seconds = reports[0]["iteration_seconds"][WARM_UP:]
        self.stage_time = reports[0].get("stage_milliseconds")
        if not self.seconds:
            return f"it had no more than {WARM_UP} iterations"
        return ""

    def ranks(self):
        """How many ranks compute."""
        return len(self.numbers)

    def median_iteration(self):
        return statistics.median(self.seconds)

    def conversion(self, shortest=0):
        """Fill work over idle time of all ranks, after the first iterations, in bubbles of at least `shortest` ns; None without any."""
        idle = filled = 0
        for file in sorted(self.trace.glob("**/rank*.jsonl")):
            records = truth.read_lines(file)
            lengths = {record["id"]: record["closed"] - record["opened"] for record in records
                       if record["type"] == "bubble" and record["iteration"] > UNFILLED and record["closed"] - record["opened"] >= shortest}
            idle += sum(lengths.values())
            filled += sum(record["alone"] for record in records if record["type"] == "slice" and record["bubble"] in lengths)
        return filled / idle if idle else None

    def slice_lengths(self):
        """The time of each slice alone (ns), all ranks."""
        return [record["alone"] for file in sorted(self.trace.glob("**/rank*.jsonl")) for record in truth.read_lines(file)
                if record["type"] == "slice"]

    def mean_iteration(self):
        return statistics.fmean(self.seconds)

    def read_summary(self, programs):
        """`weft summary --json` of the run's traces."""
        done = subprocess.run([programs / "bin/weft", "summary", "--json", self.trace], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, universal_newlines=True, timeout=60, check=True)
        self.summary = json.loads(done.stdout)
        return self.summary


def iterations_for(measuring, schedule, seconds):
    """How many iterations make a run of so many seconds, from a short run; None when that fails. Sleeping peers take in all later
    runs the times that this one found."""
    trial = measuring.run("trial", schedule, WARM_UP + 2)
    if trial is None:
        return None
    if measuring.peers_sleep:
        measuring.stage_time = trial.stage_time
    return WARM_UP + max(5, min(200, round(seconds / trial.mean_iteration())))
