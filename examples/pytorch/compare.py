#!/usr/bin/env python3
"""Runs a training script of this folder without Weft and under `weft run`, and compares the two.

    python3 compare.py --script pipeline.py --ranks 4 [--fill SPEC] [--profile] [--json] [-- SCRIPT ARGUMENTS]

Called by people and by scripts/gpu-proof. The scripts themselves know nothing of Weft. With --json the result is one JSON
object on stdout and all else goes to stderr. Exit code: 0 when all losses and the final parameters are the same bit by
bit, no unit of fill work is wrong and Weft did what --expect says, 1 when not or when a run failed, 77 when this Python
has no PyTorch. On a simulated GPU PyTorch's kernels write nothing, so there the numbers are not compared. Only the standard library is used in here, and no run goes on longer than
the time limit.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SILENT = 10  # seconds without an iteration after which a run that is stopped counts as stuck
WARM_UP = 3  # iterations that are left out of the times
EXPECTATIONS = ("filled", "active", "nothing")
# Why filling may have stopped where ranks share a GPU: one's slice waited for the others, and nothing is wrong.
HELD_UP = re.compile(r"a slice of .* did not end within")
ITERATION = re.compile(r"iteration (\d+)  loss \S+ (\S+)  norm \S+  (\S+) ms")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--script", default="pipeline.py", help="a script of this folder (default: pipeline.py)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--fill", metavar="SPEC", help="fill bubbles with this job; without it they are only observed")
    parser.add_argument("--weft", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/weft", help="the weft command")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of Weft, may be repeated")
    parser.add_argument("--expect", choices=EXPECTATIONS, default="nothing",
                        help="what Weft must have done: found bubbles and filled them, seen NCCL, or nothing (default)")
    parser.add_argument("--profile", action="store_true", help="with torch.profiler on in both runs")
    parser.add_argument("--out", type=pathlib.Path, help="keep the logs, traces and profiles there")
    parser.add_argument("--time-limit", type=int, default=300, metavar="SECONDS", help="of each of the two runs")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("arguments", nargs="*", metavar="SCRIPT ARGUMENTS", help="after --")
    return parser.parse_args()


class Stopped(Exception):
    """A run had to be stopped at its limit; the seconds since its log grew for the last time."""


def run(command: list[str], log: pathlib.Path, limit: int) -> int:
    """Exit code of the command; at its limit it and everything in its session is killed."""
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            raise Stopped(time.time() - log.stat().st_mtime) from None
        finally:
            kill_session(process)


def how_it_was_stopped(log: dict, silent: float, limit: int, must_be_fast: bool) -> str:
    """A run whose iterations went on was too slow; one in which they stopped, or never came where they must, was stuck."""
    done, usual = len(log["losses"]), statistics.median(log["milliseconds"] or [0]) / 1000
    if silent > max(SILENT, 5 * usual) if done else must_be_fast:
        return f"was stopped after {limit} s, the last {silent:.0f} s without an iteration, {done} done"
    return f"was too slow for {limit} s: {done} iterations done"


def kill_session(leader: subprocess.Popen) -> None:
    """torchrun gives each rank a session of its own; those end with their own --time-limit when torchrun cannot end them."""
    if leader.poll() is None:
        leader.terminate()  # torchrun passes it on to the ranks, and kills them when they do not obey
        try:
            leader.wait(timeout=40)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(leader.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    leader.wait()


def read_log(log: pathlib.Path) -> dict:
    """The results that rank 0 of a training script printed."""
    result = {"losses": [], "milliseconds": [], "parameters": None, "title": ""}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        iteration = ITERATION.search(line)
        if iteration:
            result["losses"].append(iteration[2])
            result["milliseconds"].append(float(iteration[3]))
        elif line.startswith("parameters "):
            result["parameters"] = line.split()[1]
        elif " ranks on " in line:
            result["title"] = line
    return result


def profiled_kernels(folder: pathlib.Path) -> int:
    """GPU kernels in the profiles of all ranks."""
    count = 0
    for path in sorted(folder.glob("rank*.json")):
        with path.open(encoding="utf-8") as file:
            count += sum(event.get("cat") == "kernel" for event in json.load(file)["traceEvents"])
    return count


def summary_of(weft: pathlib.Path, traces: pathlib.Path) -> dict | None:
    """`weft summary`, or None where Weft has written nothing: it stays asleep in a program that never uses NCCL."""
    if not list(traces.glob("rank*.jsonl")):
        return None
    done = subprocess.run([weft, "summary", "--json", traces], capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


def median_time(milliseconds: list[float]) -> float | None:
    return statistics.median(milliseconds[WARM_UP:]) if len(milliseconds) > WARM_UP else None


def compare(plain: dict, weft: dict, summary: dict | None) -> dict:
    before, after = median_time(plain["milliseconds"]), median_time(weft["milliseconds"])
    total = (summary or {}).get("total", {})
    simulated = "simulated" in plain["title"].lower()
    same_losses = bool(plain["losses"]) and plain["losses"] == weft["losses"]
    same_parameters = plain["parameters"] is not None and plain["parameters"] == weft["parameters"]
    return {
        "losses_identical": None if simulated else same_losses,
        "parameters_identical": None if simulated else same_parameters,
        "iterations": len(plain["losses"]),
        "title": plain["title"],
        "simulated": simulated,
        "weft_active": summary is not None,
        "idle_share": total.get("idle_share"),
        "conversion": total.get("conversion"),
        "iteration_time": before,
        "iteration_time_change": after / before - 1 if before and after else None,
        "bubbles": total.get("bubbles", 0),
        "fill_units": total.get("fill_units", 0),
        "fill_units_wrong": total.get("fill_units_wrong", 0),
        "dropped_records": total.get("dropped_records", 0),
        "forecast_error": total.get("forecast_error"),
        "stopped": sorted({rank["reason"] for rank in (summary or {}).get("ranks", []) if rank.get("filling_stopped")}),
        "ranks": (summary or {}).get("ranks", []),
        "notes": (summary or {}).get("notes", []),
    }


def problems_of(result: dict, expect: str) -> list[str]:
    """The conditions that do not hold. Receives inside replayed graphs are not seen, so a training that is one graph is
    only "active"; one without NCCL leaves Weft asleep: "nothing"."""
    held_up = any(HELD_UP.search(reason) for reason in result["stopped"])
    others = [reason for reason in result["stopped"] if not HELD_UP.search(reason)]
    conditions = [(result["losses_identical"] is not False, "losses differ with Weft"),
                  (result["parameters_identical"] is not False, "parameters differ with Weft"),
                  (result["fill_units_wrong"] == 0, f"{result['fill_units_wrong']} units of fill work are wrong"),
                  (result["dropped_records"] in (0, None), f"{result['dropped_records']} records were dropped")]
    if expect != "nothing":
        conditions += [(result["weft_active"], "Weft was not active")]
    if expect == "filled" and result["weft_active"]:
        conditions += [(result["bubbles"] > 0, "no bubble was found"),
                       (result["fill_units"] > 0 or held_up, "no unit of fill work was done"),
                       (not others, f"filling stopped: {'; '.join(others)}")]
    if not result["simulated"]:  # a simulated GPU has no CUPTI
        conditions += [(kernels > 0, f"the profiler saw no kernel in the run {name!r}")
                       for name, kernels in result.get("profiled_kernels", {}).items()]
    return [text for holds, text in conditions if not holds]


def run_both(options: argparse.Namespace, folder: pathlib.Path) -> dict:
    """Both runs, their logs read and compared. Ends the process when one of them fails."""
    traces = folder / "trace"
    job = ["--fill", options.fill] if options.fill else ["--observe"]
    job += [part for setting in options.set for part in ("--set", setting)]
    prefixes = {"plain": [], "weft": [str(options.weft), "run", *job, "--output", str(traces), "--"]}
    logs = {}
    for name, prefix in prefixes.items():
        profile = ["--profile", str(folder / f"profile-{name}")] if options.profile else []
        command = [*prefix, sys.executable, str(HERE / options.script), "--launch", str(options.ranks),
                   "--time-limit", str(options.time_limit), *profile, *options.arguments]
        print(f"compare.py: {' '.join(command)}", file=sys.stderr, flush=True)
        try:
            code = run(command, folder / f"{name}.log", options.time_limit)
        except Stopped as stopped:
            # The run without Weft has shown that iterations come in time.
            how = how_it_was_stopped(read_log(folder / f"{name}.log"), stopped.args[0], options.time_limit, name == "weft")
            raise SystemExit(f"compare.py: the run {name!r} {how}") from None
        if code != 0:
            sys.stderr.write((folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")[-6000:])
            raise SystemExit(f"compare.py: the run {name!r} ended with code {code}")
        logs[name] = read_log(folder / f"{name}.log")
    result = {"script": options.script, "arguments": options.arguments}
    result.update(compare(logs["plain"], logs["weft"], summary_of(options.weft, traces)))
    if options.profile:
        result["profiled_kernels"] = {name: profiled_kernels(folder / f"profile-{name}") for name in prefixes}
    result["problems"] = problems_of(result, options.expect)
    return result


def as_text(result: dict) -> str:
    def percent(value) -> str:
        return "unknown" if value is None else f"{100 * value:.2f} %"

    def same(value) -> str:
        return {True: "bit-identical", False: "DIFFERENT", None: "mean nothing on a simulated GPU"}[value]

    lines = [result["title"],
             f"losses            {same(result['losses_identical'])}, {result['iterations']} iterations",
             f"parameters        {same(result['parameters_identical'])}",
             f"iteration time    {percent(result['iteration_time_change'])} (median, against the run without Weft)"]
    if result["weft_active"]:
        lines += [f"GPU time idle     {percent(result['idle_share'])} in {result['bubbles']} bubbles",
                  f"of that filled    {percent(result['conversion'])}",
                  f"fill units        {result['fill_units']} done, {result['fill_units_wrong']} wrong",
                  f"dropped records   {'unknown' if result['dropped_records'] is None else result['dropped_records']}"]
    else:
        lines.append("Weft stayed asleep: no NCCL communicator was made")
    if "profiled_kernels" in result:
        lines.append(f"profiled kernels  {result['profiled_kernels']}")
    lines += [f"filling stopped   {reason}" for reason in result["stopped"]]
    return "\n".join(lines + [f"note: {note}" for note in result["notes"]])


def main() -> int:
    options = parse_arguments()
    if importlib.util.find_spec("torch") is None:
        print(f"compare.py: {sys.executable} has no PyTorch (pip install torch==2.11.*)", file=sys.stderr)
        return 77
    folder = options.out or pathlib.Path(tempfile.mkdtemp(prefix="weft-pytorch-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        result = run_both(options, folder)
    finally:
        if options.out is None:
            shutil.rmtree(folder)
    print(json.dumps(result) if options.json else as_text(result))
    if result["problems"]:
        print(f"compare.py: {'; '.join(result['problems'])}", file=sys.stderr)
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
