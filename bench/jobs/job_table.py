#!/usr/bin/env python3
"""Holds Weft's traces of many kinds of jobs against what the simulated GPUs really did, and writes a table.

    python3 bench/jobs/job_table.py --results build/jobs --queues 8,32 --modes observe,fill --markdown docs/jobs.md

A cell is a job with a number of hardware queues and a mode. Each is one JSON file in --results; a cell that is there
already is not run again, so a run that was stopped goes on where it was. docs/jobs.md says what the columns mean. Needs a
build (scripts/build) and, for all rows but the trainer's, a Python with PyTorch. The exit code is 0 when all cells were run,
whatever they show.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import sys

import cell
import jobs
import table


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def modes(text: str) -> list[str]:
    chosen = text.split(",")
    if not set(chosen) <= {"observe", "fill"}:
        raise argparse.ArgumentTypeError("observe, fill, or both with a comma between them")
    return chosen


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, metavar="DIR", help="one JSON file per cell lies there")
    parser.add_argument("--rows", metavar="NAME,...", help="only these jobs; NAME* is all that begin with NAME")
    parser.add_argument("--queues", type=numbers, default=[8, 32], metavar="N,...", help="CUDA_DEVICE_MAX_CONNECTIONS (8,32)")
    parser.add_argument("--modes", type=modes, default=["observe"], metavar="MODE,...", help="observe, fill (observe)")
    parser.add_argument("--time-scale", type=float, default=1, metavar="N", help="SIMGPU_TIME_SCALE (1)")
    parser.add_argument("--iterations", type=int, metavar="N", help="of each job, in place of its own number")
    parser.add_argument("--timeout", type=int, default=180, metavar="SECONDS", help="of each run (180)")
    parser.add_argument("--again", action="store_true", help="run cells that are there already, too")
    parser.add_argument("--only-table", action="store_true", help="run nothing")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE", help="write the table of all chosen cells that are "
                        "there; in a page that has a table of this command, in its place")
    parser.add_argument("--build", type=pathlib.Path, default=jobs.ROOT / "build/release", metavar="DIR", help="(build/release)")
    parser.add_argument("--python", default=str(jobs.ROOT / "build/frameworks/bin/python"), metavar="FILE",
                        help="a Python with PyTorch (that which scripts/test --frameworks makes)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep traces, logs and truth of each cell there")
    parser.add_argument("--list", action="store_true", help="print the names of all rows and end")
    options = parser.parse_args()
    if not options.list and options.results is None:
        parser.error("--results is needed")
    return options


def cells_of(options: argparse.Namespace) -> list[cell.Cell]:
    """In the order of the table."""
    return [cell.Cell(row, queues, mode) for row in jobs.rows_named(options.rows) for queues in options.queues
            for mode in options.modes]


def run_missing(options: argparse.Namespace, cells: list[cell.Cell]) -> None:
    # A Python of a virtual environment is a link that must stay one.
    settings = cell.Settings(options.build.absolute(), str(pathlib.Path(options.python).absolute()), options.time_scale,
                             options.timeout, options.results, options.iterations, options.keep)
    options.results.mkdir(parents=True, exist_ok=True)
    for one in cells:
        path = options.results / f"{one.name}.json"
        if path.exists() and not options.again:
            continue
        result = cell.measure(one, settings)
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(path)
        print(f"{table.line(result)} {result['seconds']} s", flush=True)


def main() -> int:
    options = parse_arguments()
    if options.list:
        print("\n".join(row.name for row in jobs.ROWS))
        return 0
    cells = cells_of(options)
    needs_python = not options.only_table and any(one.row.uses_pytorch for one in cells)
    if needs_python and not pathlib.Path(options.python).exists():
        print(f"job_table.py: no {options.python}; scripts/test --frameworks makes one, or name another: --python FILE",
              file=sys.stderr)
        return 1
    if not options.only_table:
        run_missing(options, cells)
    if options.markdown:
        paths = [options.results / f"{one.name}.json" for one in cells]
        table.write([json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()], options.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
