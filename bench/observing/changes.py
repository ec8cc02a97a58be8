"""How much longer iterations with Weft are than those without, from rounds of blocks; and the table of it. Pure but for write().

Used by observing_cost.py. A round is {"on": [ms], "off": [ms]}: the iterations of two blocks each, in the order on, off,
off, on or its reverse, so that a steady drift is no difference. The change of a round is one sample; rounds follow each
other within one training, and those of several trainings are put together.
"""
from __future__ import annotations

import pathlib
import statistics

LEAST_ROUNDS = 24  # of fewer the standard error is a guess, and to stop as soon as it is small picks quiet minutes
HEAD = "| marker | iteration, ms | rounds | change of means, % | of medians, % | us per group | load | standard error |"


def rounds_of(blocks: list[dict], per_round: int) -> list[dict]:
    """The rounds of one run's blocks, in their order."""
    rounds = []
    for first in range(0, len(blocks), per_round):
        part = blocks[first:first + per_round]
        rounds.append({kind: [time for block in part if block["on"] is wanted for time in block["milliseconds"]]
                       for kind, wanted in (("on", True), ("off", False))})
    return rounds


def _change(rounds: list[dict], middle) -> tuple[float, float] | None:
    """(mean, standard error) of the rounds' relative changes; None of too few."""
    samples = [middle(one["on"]) / middle(one["off"]) - 1 for one in rounds]
    if len(samples) < 2:
        return None
    return statistics.fmean(samples), statistics.stdev(samples) / len(samples) ** 0.5


def of_means(rounds: list[dict]) -> tuple[float, float] | None:
    return _change(rounds, statistics.fmean)


def of_medians(rounds: list[dict]) -> tuple[float, float] | None:
    """Does not see what happens in few iterations only, the machine's other work among it."""
    return _change(rounds, statistics.median)


def is_enough(rounds: list[dict], error: float) -> bool:
    change = of_means(rounds)
    return change is not None and len(rounds) >= LEAST_ROUNDS and change[1] <= error


def _percent(change: tuple[float, float] | None) -> str:
    return "-" if change is None else f"{100 * change[0]:+.3f} ± {100 * change[1]:.3f}"


def _facts(row: dict, error: float) -> tuple[str, ...]:
    rounds = [one for run in row["runs"] for one in run["rounds"]]
    means, medians = of_means(rounds), of_medians(rounds)
    off = statistics.fmean(time for one in rounds for time in one["off"])
    per_group = "-" if medians is None else f"{1000 * off * medians[0] / row['groups']:+.1f}"
    loads = [load for run in row["runs"] for load in (run["load_before"], run["load_after"])]
    load = f"{min(loads):.1f} to {max(loads):.1f} on {row['cpus']} CPUs"
    reached = "reached" if is_enough(rounds, error) else "not reached"
    return row["row"], f"{off:.2f}", str(len(rounds)), _percent(means), _percent(medians), per_group, load, reached


def line(row: dict, error: float) -> str:
    name, _, rounds, means, medians, _, _, reached = _facts(row, error)
    return f"{name}: {rounds} rounds, change of means {means} %, of medians {medians} %, {reached}"


def table(rows: list[dict], error: float) -> str:
    lines = [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
    return "\n".join(lines + ["| " + " | ".join(_facts(row, error)) + " |" for row in rows]) + "\n"


def write(path: pathlib.Path, text: str) -> None:
    """In the place of the table that a page has, else at its end; a new page where there is none."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    new = text.splitlines()
    if new[0] not in lines:
        path.write_text("\n".join([*lines, *([""] if lines else []), *new]) + "\n", encoding="utf-8")
        return
    first = last = lines.index(new[0])
    while last < len(lines) and lines[last].startswith("|"):
        last += 1
    path.write_text("\n".join(lines[:first] + new + lines[last:]) + "\n", encoding="utf-8")
