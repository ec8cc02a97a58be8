#!/usr/bin/env python3
"""Trains with several processes and NCCL, on one GPU or on simulated ones, without Weft and under `weft run --fill`, and
compares: the same numbers, fill work done and right, nothing dropped.

Called by CTest (see CMakeLists.txt) and by scripts/gpu-proof, with only Python's standard library. On hardware all ranks
share the first GPU and NCCL goes over sockets, since it takes ranks with different NCCL_HOSTID for different machines.
Prints one JSON object on one line. Exit code: 0 all holds, 1 something does not, 77 there is no device. Every run has a
time limit, and no rank outlives this script.
"""
import argparse
import ctypes
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "bench/gpu/measures"), str(ROOT / "bench/gpu")]
from proof import simulator  # noqa: E402
from proof.processes import die_with_parent  # noqa: E402
from ranks import SHARED_GPU, wait_for_all  # noqa: E402
from run_case import HELD_UP, NO_DEVICE, read_lines  # noqa: E402

# The number of ranks, the rank that computes while the others sleep (None: all compute), arguments of the trainer.
VARIANTS = {
    "1f1b": (4, None, ["--schedule", "1f1b"]),
    "gpipe-host": (4, None, ["--schedule", "gpipe", "--wait", "host"]),
    "two-ranks-in-stream": (2, None, ["--wait", "in-stream"]),
    "stage-0": (4, 0, ["--schedule", "1f1b"]),
    "stage-1": (4, 1, ["--schedule", "1f1b"]),
    "stage-3": (4, 3, ["--schedule", "gpipe"]),
}
LEARNING = 5  # iterations before anything is filled
# Two runs have to fit into what scripts/gpu-proof gives this script.
RUN_LIMIT = max(10.0, (float(os.environ.get("GPU_PROOF_LIMIT", "250")) - 10) / 2)


def has_device():
    """Asks the real driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


@dataclasses.dataclass
class TestBed:
    """How the ranks are placed, and what that excuses."""

    simulated: bool
    stage: object  # the rank that computes while the others sleep; None: all compute
    mps: bool

    def slices_are_held_up(self):
        """Whether a slice may wait so long for other processes that filling ends: for their turns on the GPU, for their kernels, or
        on simulated GPUs for a busy machine."""
        return self.simulated or not self.mps or self.stage is None

    def text(self):
        who = "all ranks compute" if self.stage is None else "one stage computes, its peers sleep"
        if self.simulated:
            return f"{who}; a simulated GPU each"
        return f"{who}; all ranks on one GPU, {'under MPS' if self.mps else 'in turns'}"


class Ranks:
    """One training run: a process per rank, all ended when it is left."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.ranks, self.stage, self.told = VARIANTS[arguments.variant]
        os.makedirs(folder / "log")

    def environment_of(self, rank):
        environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(self.ranks),
                           TRAINER_RENDEZVOUS=str(self.folder / "rendezvous"))
        if not self.arguments.simulated:
            return {**environment, **SHARED_GPU, "NCCL_HOSTID": f"weft-rank-{rank}", "LOCAL_RANK": "0"}
        return {**environment, "SIMGPU_DEVICES": str(self.ranks), "SIMGPU_LOG": str(self.folder / "log")}

    def command_of(self, rank, fill, stage_time):
        command = [self.arguments.build / "bin/trainer", *self.told, "--iterations", str(self.arguments.iterations),
                   "--report", self.folder, "--text", ROOT / "LICENSE"]
        if not self.arguments.simulated:
            command += ["--size", "real", "--microbatches", "8" if self.stage is not None else "4"]
        if self.stage is not None:
            command += ["--peers", "sleep", "--stage", str(self.stage)]
            command += ["--stage-time", ",".join(map(str, stage_time))] if stage_time else []
        # A rank that sleeps must not fill: it would take the shared GPU from the one that computes.
        if fill and self.stage in (None, rank):
            weft = [self.arguments.build / "bin/weft", "run", "--quiet", "--fill", fill, "--memory", "256MiB", "--output",
                    self.folder / "trace", "--"]
            command = weft + command
        return [str(word) for word in command]

    def run(self, fill=None, stage_time=None):
        """Returns "" or what went wrong."""
        processes = []
        give_up = time.monotonic() + RUN_LIMIT
        try:
            for rank in range(self.ranks):
                processes.append(subprocess.Popen(self.command_of(rank, fill, stage_time), env=self.environment_of(rank), stdout=subprocess.DEVNULL,
                                                  preexec_fn=die_with_parent))
            code = wait_for_all(processes, give_up)
            return "" if code == 0 else f"a rank ended with {code}"
        except TimeoutError:
            return f"stopped after {RUN_LIMIT:.0f} s"
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                process.wait()

    def reports(self):
        return [json.loads((self.folder / f"rank{rank}.json").read_text()) for rank in range(self.ranks)]


def numbers_of(reports):
    return [[report["losses"], report["gradient_norms"]] for report in reports]


def values_of(plain, filled, run):
    traces = read_lines(run.folder / "trace")
    summaries = [line for line in traces if line["type"] == "summary"]
    idle, length = (sum(line[name] for line in summaries) for name in ("idle", "filled"))
    window = sum(line["window_end"] - line["window_begin"] for line in summaries)
    watched = run.stage or 0
    seconds = [statistics.median(reports[watched]["iteration_seconds"][LEARNING:]) for reports in (plain, filled)]
    log = read_lines(run.folder / "log")
    return {
        "ranks": run.ranks,
        "traces": len(summaries),
        "identical": numbers_of(plain) == numbers_of(filled),
        "learns": len(set(plain[watched]["gradient_norms"])) > 1,
        "stage_milliseconds": plain[watched]["stage_milliseconds"],
        "iteration_seconds": seconds[0],
        "iteration_time_change": seconds[1] / seconds[0] - 1,
        "idle_share": idle / window if window else None,
        "conversion": length / idle if idle else None,
        "bubbles": sum(line["bubbles"] for line in summaries),
        "units": sum(line["fill_units"] for line in summaries),
        "units_wrong": sum(line["fill_units_wrong"] for line in summaries),
        "dropped_records": sum(line["dropped_records"] for line in summaries),
        "stopped": sorted({line["reason"] for line in summaries if line["filling_stopped"]}),
        "hazards": sum(line["type"] == "hazard" and line.get("thread", "").startswith("weft") for line in log),
    }


def what_does_not_hold(values, traces, bed):
    held_up = bool(values["stopped"]) and bed.slices_are_held_up() and all(HELD_UP.search(reason) for reason in values["stopped"])
    conditions = [
        (values["traces"] == traces, f"{values['traces']} ranks wrote a whole trace, not {traces}"),
        (values["identical"], "losses or norms differ with Weft"),
        (values["learns"], "the norm of the gradient never changes"),
        (values["bubbles"] > 0, "no bubble was found"),
        (held_up or values["units"] > 0, "no unit of fill work was done"),
        (values["units_wrong"] == 0, f"{values['units_wrong']} units of fill work are wrong"),
        (values["dropped_records"] == 0, f"{values['dropped_records']} records were dropped"),
        (held_up or not values["stopped"], f"filling stopped: {'; '.join(values['stopped'])}"),
        (values["hazards"] == 0, f"{values['hazards']} calls of Weft stalled beside a spinning kernel"),
    ]
    return [text for holds, text in conditions if not holds]


def notes_of(values, bed):
    """A reader of the values has to know these."""
    return [bed.text()] + [f"filling stopped: {reason}" for reason in values["stopped"]]


def compare(arguments, directory):
    for name in ("plain", "filled"):
        shutil.rmtree(directory / name, ignore_errors=True)
    plain, filled = Ranks(arguments, directory / "plain"), Ranks(arguments, directory / "filled")
    problem = plain.run()
    if problem:
        print(f"run_ranks: {arguments.variant} without Weft: {problem}", file=sys.stderr)
        return 1
    before = plain.reports()
    fill = str(arguments.build / "lib/weft/fill_matmul.so") + ("" if arguments.simulated else ":size=256")
    # The same sleep in both runs, or the schedules would differ.
    problem = filled.run(fill, before[filled.stage]["stage_milliseconds"] if filled.stage is not None else None)
    if problem:
        print(f"run_ranks: {arguments.variant} with Weft: {problem}", file=sys.stderr)
        return 1
    values = values_of(before, filled.reports(), filled)
    bed = TestBed(arguments.simulated, filled.stage, mps="CUDA_MPS_PIPE_DIRECTORY" in os.environ)
    wrong = what_does_not_hold(values, filled.ranks if filled.stage is None else 1, bed)
    for text in wrong:
        print(f"run_ranks: {arguments.variant}: {text}", file=sys.stderr)
    print(json.dumps({"case": f"ranks-{arguments.variant}", "simulated": arguments.simulated, "holds": not wrong,
                      "notes": notes_of(values, bed), "values": values}))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("--build", required=True, type=pathlib.Path, help="bundle or build tree")
    parser.add_argument("--simulated", action="store_true", help="on simulated GPUs: those of the build, or where it is started on some, those")
    parser.add_argument("--iterations", type=int, default=16)
    parser.add_argument("--output", type=pathlib.Path, help="folder in which reports, traces and logs stay")
    arguments = parser.parse_args()
    if arguments.simulated:
        simulator.enter(arguments.build, [sys.executable, *sys.argv])
    arguments.build = arguments.build.absolute()
    if not arguments.simulated and not has_device():
        print("run_ranks: skipped: no CUDA device is here", file=sys.stderr)
        return NO_DEVICE
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    if arguments.output:
        return compare(arguments, arguments.output.absolute())
    with tempfile.TemporaryDirectory() as directory:
        return compare(arguments, pathlib.Path(directory))


if __name__ == "__main__":
    sys.exit(main())
