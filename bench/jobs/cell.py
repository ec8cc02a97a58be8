"""One cell of the table: runs a job under Weft on simulated GPUs and holds its traces against the logs of the GPUs.

Called by job_table.py, one cell at a time. No run goes on longer than its limit. Where a run with Weft does not end well
the same command is run without Weft, in the same environment: what fails there, too, is no fault of Weft's.
"""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import intervals
import jobs

NOT_OVER = "not over"  # in place of an exit code: at the time limit
SHORTEST_IDLE = 10_000  # ns at time scale 1: gaps between dependent kernels are no bubbles
END_OF_LAUNCHER = 40  # seconds; torchrun passes the end on to its ranks


@dataclasses.dataclass(frozen=True)
class Settings:
    build: pathlib.Path
    python: str
    time_scale: float
    timeout: int
    results: pathlib.Path  # the plain program's own results lie there, for all modes
    iterations: int | None = None
    keep: pathlib.Path | None = None  # traces and logs of all cells stay there


@dataclasses.dataclass(frozen=True)
class Cell:
    row: jobs.Row
    queues: int
    mode: str  # observe or fill

    @property
    def name(self) -> str:
        return f"{self.row.name}.{self.queues}.{self.mode}"


def kill(process: subprocess.Popen) -> None:
    """torchrun gives each rank a session of its own; it ends them itself, or they end at their own --time-limit."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=END_OF_LAUNCHER)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run(command: list[str], environment: dict, log: pathlib.Path, limit: int) -> int | str:
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            return NOT_OVER
        finally:
            kill(process)


def run_job(cell: Cell, settings: Settings, folder: pathlib.Path, with_weft: bool) -> int | str:
    """Into a folder: log, report, truth and, with Weft, trace."""
    for name in ("report", "truth"):
        (folder / name).mkdir(parents=True)
    command = [str(jobs.ROOT / "scripts/on-simulated-gpu"), "--build", str(settings.build)]
    command += ["--pytorch"] if cell.row.uses_pytorch else []
    if with_weft:
        work = ["--observe"] if cell.mode == "observe" else ["--fill", str(settings.build / "lib/weft/fill_matmul.so")]
        command += [str(settings.build / "bin/weft"), "run", *work, "--output", str(folder / "trace"), "--"]
    command += cell.row.command(settings.build, settings.python, folder / "report", settings.timeout, settings.iterations)
    environment = {**os.environ, "CUDA_DEVICE_MAX_CONNECTIONS": str(cell.queues), "SIMGPU_DEVICES": str(cell.row.ranks),
                   "SIMGPU_LOG": str(folder / "truth"), "SIMGPU_TIME_SCALE": f"{settings.time_scale:g}",
                   "SIMGPU_SCHEDULING": "realtime"}  # where the machine permits it
    return run(command, environment, folder / "log", settings.timeout)


def read_trace(path: pathlib.Path) -> tuple[dict, dict, list[dict]]:
    """Header and summary ({} where there is none) of the last segment, and all records. The last line may have broken off."""
    header, summary, records = {}, {}, []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        records.append(record)
        if record["type"] == "header":
            header, summary = record, {}
        elif record["type"] == "summary":
            summary = record
    return header, summary, records


def true_idle(settings: Settings, log: pathlib.Path, window: tuple[int, int], *how: str) -> intervals.Intervals:
    """`how`: options of simgpu-truth, whose --help says what is true without any."""
    command = [str(settings.build / "bin/simgpu-truth"), "--intervals", "--from", str(window[0]), "--to", str(window[1]),
               "--shortest", str(int(SHORTEST_IDLE * settings.time_scale)), *how, str(log)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=settings.timeout, check=True)
    return json.loads(done.stdout)["logs"][0]["intervals"]


def measure_rank(settings: Settings, trace: pathlib.Path, truth: pathlib.Path) -> dict | None:
    """None where the trace has no summary, or no log belongs to it."""
    header, summary, records = read_trace(trace)
    log = truth / f"gpu{header.get('device')}.{header.get('process')}.jsonl"
    if not summary or not log.exists():
        return None
    window = summary["window_begin"], summary["window_end"]
    reported = [(record["opened"], record["closed"]) for record in records if record["type"] == "bubble"]
    uncertain = [(record["began"], record["ended"]) for record in records if record["type"] == "uncertain"]
    kinds: dict[str, int] = {}
    causes: dict[str, int] = {}  # of uncertain time
    unsure = 0  # of the beginnings and ends of all bubbles together
    for record in records:
        if record["type"] == "bubble":
            unsure += record["opened_within"] + record["closed_within"]
            kind = f"{record['pattern']}/{record['cause']}"
            kinds[kind] = kinds.get(kind, 0) + record["closed"] - record["opened"]
        elif record["type"] == "uncertain":
            part = intervals.intersection([(record["began"], record["ended"])], [window])
            causes[record["why"]] = causes.get(record["why"], 0) + intervals.length(part)
    time_in_window = max(window[1] - window[0], 1)
    true = true_idle(settings, log, window, "--as-told")
    modelled = true_idle(settings, log, window)
    by_model = intervals.compare(reported, modelled, uncertain, window)
    by_waits = true_idle(settings, log, window, "--as-told", "--by-waits")
    started = min((record["started"] for record in records if record["type"] == "iteration"), default=None)

    def shares(truth: intervals.Intervals) -> dict:
        later = intervals.compare(reported, truth, uncertain, (started, window[1])) if started is not None else {}
        return {**intervals.compare(reported, truth, uncertain, window), "later_coverage": later.get("coverage"),
                "later_precision": later.get("precision")}
    return {
        "rank": header["rank"],
        **shares(true),
        "by_waits": shares(by_waits),
        "late": intervals.length(intervals.difference(true, modelled)) / time_in_window,
        "between_looks": unsure / time_in_window,
        "true_by_model": by_model["true"],
        "coverage_by_model": by_model["coverage"],
        "precision_by_model": by_model["precision"],
        "window": time_in_window,
        "bubbles": summary["bubbles"],
        "iterations": summary["iterations"],
        "idle_unknown": header["idle_unknown"],
        "idle_by_kind": {kind: time / time_in_window for kind, time in sorted(kinds.items())},
        "uncertain_reason": summary["uncertain_reason"],
        "uncertain_by_cause": {why: time / time_in_window for why, time in sorted(causes.items())},
        "conversion": summary["filled"] / summary["idle"] if summary["idle"] else None,
        "unfilled": summary["unfilled"],
        "fill_units": summary["fill_units"],
        "fill_units_wrong": summary["fill_units_wrong"],
        "dropped_records": summary["dropped_records"],
        "filling_stopped": summary["reason"] if summary["filling_stopped"] else "",
    }


def losses(folder: pathlib.Path) -> list | None:
    """Of all ranks, as the trainer reports them."""
    reports = sorted((folder / "report").glob("rank*.json"))
    return [json.loads(report.read_text(encoding="utf-8"))["losses"] for report in reports] or None


def state(rc: int | str, plain_rc: int | str | None, ranks_found: int, ranks: int) -> str:
    """One or a few words; `plain_rc` is None where there was no need to run the plain program."""
    if rc != 0:
        if plain_rc not in (None, 0):
            return "plain program not over in time" if plain_rc == NOT_OVER else f"plain program fails ({plain_rc})"
        return "not over in time with Weft" if rc == NOT_OVER else f"fails with Weft ({rc})"
    return "ok" if ranks_found == ranks else f"{ranks_found} of {ranks} ranks have a trace"


def version() -> str:
    """Of the sources, as git has them; nothing where they are no clone."""
    done = subprocess.run(["git", "-C", str(jobs.ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip()


def tail(log: pathlib.Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-2000:] if log.exists() else ""


def plain_run(cell: Cell, settings: Settings, folder: pathlib.Path) -> dict:
    """The program without Weft: exit code and losses. It is run once for all modes."""
    kept = settings.results / f"{cell.row.name}.{cell.queues}.plain.json"
    setting = {"time_scale": settings.time_scale, "iterations": settings.iterations or cell.row.iterations}
    if kept.exists():
        old = json.loads(kept.read_text(encoding="utf-8"))
        if old["rc"] == 0 and setting.items() <= old.items():
            return old
    result = {**setting, "rc": run_job(cell, settings, folder, with_weft=False), "losses": losses(folder)}
    kept.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


def measure(cell: Cell, settings: Settings) -> dict:
    """The cell as an object for JSON."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-jobs-"))
    try:
        began = time.monotonic()
        rc = run_job(cell, settings, folder / "weft", with_weft=True)
        seconds = time.monotonic() - began
        traces = sorted((folder / "weft/trace").glob("rank*.jsonl"))
        measured = [measure_rank(settings, trace, folder / "weft/truth") for trace in traces]
        ranks = sorted((rank for rank in measured if rank), key=lambda rank: rank["rank"])
        plain = {"rc": None}
        if rc != 0 or cell.row.prints_losses:
            plain = plain_run(cell, settings, folder / "plain")
        same = None
        if rc == 0 and plain["rc"] == 0:
            same = plain["losses"] is not None and plain["losses"] == losses(folder / "weft")
        return {"version": version(), "row": cell.row.name, "queues": cell.queues, "mode": cell.mode,
                "time_scale": settings.time_scale, "state": state(rc, plain["rc"], len(ranks), cell.row.ranks), "rc": rc, "plain_rc": plain["rc"],
                "seconds": round(seconds, 1), "iterations_real": settings.iterations or cell.row.iterations,
                "losses_identical": same, "ranks": ranks, "log": "" if rc == 0 else tail(folder / "weft/log")}
    finally:
        if settings.keep:
            shutil.rmtree(settings.keep / cell.name, ignore_errors=True)
            shutil.copytree(folder, settings.keep / cell.name)
        shutil.rmtree(folder)
