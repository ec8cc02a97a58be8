#!/usr/bin/env python3
"""How much longer an iteration takes while Weft observes: blocks with and without it, in turn within one training.

    python3 bench/observing/observing_cost.py --results build/observing --minutes 40 --markdown docs/bench.md

Rows are the simulated GPU's prices of a marker (SIMGPU_RECORD_TIME, SIMGPU_WRITE_TIME), and a control without Weft, in which both kinds of
block are the same. Each row is trained again and again, the rows in turn, until the standard error of its change is small
enough or the time is over. The samples lie in --results, a file per row: a command that was stopped goes on there.
Needs a build (scripts/build). docs/bench.md says what the columns mean. The exit code is 0 when all runs went well,
whatever they show.
"""
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import changes

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTROL = "control"
BLOCKS, UNCOUNTED = 4, 1  # of a round; iterations at the start of each


@dataclasses.dataclass(frozen=True)
class Training:
    """The settings that decide an iteration. Rounds with others are not put together."""
    forward: float
    backward: float
    microbatches: int
    ranks: int
    iterations: int
    time_scale: float

    def round_seconds(self) -> float:
        iteration = (self.microbatches + self.ranks - 1) * (self.forward + self.backward) / 1000
        return BLOCKS * (self.iterations + UNCOUNTED) * iteration * self.time_scale

    def arguments(self) -> list[str]:
        return [text for name in ("forward", "backward", "microbatches", "ranks", "iterations")
                for text in (f"--{name}", str(getattr(self, name)))]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, required=True, metavar="DIR", help="one JSON file per row lies there")
    parser.add_argument("--rows", default=f"{CONTROL},0us,1us,5us", metavar="TIME,...",
                        help=f"price of a marker of each row, or {CONTROL} ({CONTROL},0us,1us,5us)")
    parser.add_argument("--minutes", type=float, default=40, help="end after this, reached or not (40)")
    parser.add_argument("--error", type=float, default=0.03, metavar="PERCENT", help="standard error that is enough (0.03)")
    parser.add_argument("--forward", type=float, default=13, metavar="MS", help="of a microbatch on a stage (13, as the demo's)")
    parser.add_argument("--backward", type=float, default=26, metavar="MS", help="likewise (26)")
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--ranks", type=int, default=2, help="stages, a simulated GPU each (2)")
    parser.add_argument("--iterations", type=int, default=4, help="of a block that count (4); one before them does not")
    parser.add_argument("--time-scale", type=float, default=1, metavar="N", help="SIMGPU_TIME_SCALE (1)")
    parser.add_argument("--rounds", type=int, default=8, help="of four blocks, in one process (8)")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE", help="write the table there; in a page that has a "
                        "table of this command, in its place")
    parser.add_argument("--only-table", action="store_true", help="run nothing")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR", help="(build/release)")
    return parser.parse_args()


def training_of(options: argparse.Namespace) -> Training:
    return Training(**{field.name: getattr(options, field.name) for field in dataclasses.fields(Training)})


def run_all(command: list[str], environment: dict[str, str], limit: float) -> tuple[int | None, str]:
    """(exit code, None past the limit; stdout) of a command that is ended with all that it has started."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output = process.communicate(timeout=limit)[0]
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Row:
    """The runs of a row so far, and the file that they lie in."""

    def __init__(self, name: str, options: argparse.Namespace):
        self.name, self.options, self.training = name, options, training_of(options)
        self.path = options.results / f"{name}.json"
        self.kept = {"row": name, "training": dataclasses.asdict(self.training), "cpus": os.cpu_count(), "runs": []}
        if self.path.exists():
            self.kept = json.loads(self.path.read_text(encoding="utf-8"))
            if self.kept["training"] != dataclasses.asdict(self.training):
                raise SystemExit(f"observing_cost.py: {self.path} is of another training; name another folder with --results")

    def rounds(self) -> list[dict]:
        return [one for run in self.kept["runs"] for one in run["rounds"]]

    def reached(self) -> bool:
        return changes.is_enough(self.rounds(), self.options.error / 100)

    def measure(self) -> None:
        """Trains once more. Only whole runs count."""
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory(prefix="observing-cost-") as folder:
            lines = self._train(pathlib.Path(folder))
        rounds = changes.rounds_of(lines[1:], BLOCKS)
        self.kept["groups"] = lines[-1]["groups"]
        self.kept["runs"].append({"load_before": load, "load_after": os.getloadavg()[0], "rounds": rounds})
        unfinished = self.path.with_suffix(".new")
        unfinished.write_text(json.dumps(self.kept) + "\n", encoding="utf-8")
        unfinished.replace(self.path)

    def _train(self, folder: pathlib.Path) -> list[dict]:
        build = self.options.build.absolute()
        observed = self.name != CONTROL
        weft = [build / "bin/weft", "run", "--quiet", "--observe", "--output", folder / "trace", "--"] if observed else []
        command = [ROOT / "scripts/on-simulated-gpu", "--build", build, *weft, build / "bin/observing_cost",
                   *self.training.arguments(), "--rounds", str(self.options.rounds)]
        environment = dict(os.environ, SIMGPU_TIME_SCALE=str(self.training.time_scale), WEFT_SUMMARY="off")
        if observed:
            # A marker is an event, or a write where the machine was asked.
            environment["SIMGPU_WRITE_TIME"] = environment["SIMGPU_RECORD_TIME"] = self.name
        code, output = run_all([str(word) for word in command], environment,
                               60 + 3 * self.options.rounds * self.training.round_seconds())
        lines = [json.loads(line) for line in output.splitlines()] if code == 0 else []
        if len(lines) != 1 + BLOCKS * self.options.rounds:
            raise SystemExit(f"observing_cost.py: {self.name}: the training "
                             + ("did not end in time" if code is None else f"failed (exit code {code})"))
        if lines[0]["hooks"] != observed:
            raise SystemExit(f"observing_cost.py: {self.name}: Weft is {'not ' if observed else ''}in the process")
        if observed:
            self._check_observed(build, folder / "trace")
        return lines

    def _check_observed(self, build: pathlib.Path, trace: pathlib.Path) -> None:
        """A Weft that saw nothing costs nothing, and is no answer."""
        text = subprocess.run([str(build / "bin/weft"), "summary", "--json", str(trace)], stdout=subprocess.PIPE, text=True,
                              check=True, timeout=60).stdout
        ranks = json.loads(text)["ranks"]
        least = self.options.rounds * BLOCKS // 2 * self.training.iterations  # one for each iteration that is observed
        if len(ranks) != self.training.ranks or any(rank["bubbles"] < least or rank["dropped_records"] != 0 for rank in ranks):
            raise SystemExit(f"observing_cost.py: {self.name}: Weft did not see all ranks, or dropped records: {text}")


def main() -> int:
    options = parse_arguments()
    options.results.mkdir(parents=True, exist_ok=True)
    rows = [Row(name, options) for name in options.rows.split(",")]
    run_seconds = 3 + options.rounds * training_of(options).round_seconds()
    deadline = time.monotonic() + 60 * options.minutes
    while not options.only_table and (open_rows := [row for row in rows if not row.reached()]):
        if time.monotonic() + run_seconds > deadline:
            break
        # The one with the fewest rounds: all see the same hours of the machine.
        row = min(open_rows, key=lambda one: len(one.rounds()))
        row.measure()
        print(changes.line(row.kept, options.error / 100), flush=True)
    text = changes.table([row.kept for row in rows if row.kept["runs"]], options.error / 100)
    print(text)
    if options.markdown:
        changes.write(options.markdown, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
