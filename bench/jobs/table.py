"""The table in Markdown, from the cells that job_table.py has kept. Pure but for write(); docs/jobs.md explains it."""
from __future__ import annotations

import pathlib
import re
import textwrap

LEAST_AGREEMENT = 0.98  # of coverage and precision
MOST_RELATIVE, MOST_ABSOLUTE = 0.02, 0.005  # by which idle time may differ: the larger of the two
MOST_UNSEEN = 2  # iterations: a rhythm is known when it has come twice
MOST_UNCERTAIN = 0.01  # of the window, but for these causes. A static or renamed NCCL leaves no time to compare at all
EXCUSES = ("one hardware queue", "captured step", "host wait outside CUDA")
LEAST_IDLE = 0.01  # of the window: of less the width of the looks is a large part
MOST_LATE = 0.002  # of the window: with more the times of the model say little about Weft
SHARES = {"coverage": "coverage", "precision": "precision", "later coverage": "later_coverage",
          "later precision": "later_precision"}
WIDTH = 120  # of lines beside the table
BEGIN, END = "<!-- job_table.py: begin -->", "<!-- job_table.py: end -->"
COLUMNS = ("job", "queues", "mode", "scale", "idle, Weft (%)", "idle, true (%)", "coverage", "precision", "later coverage",
           "later precision", "uncertain (%)", "accounted", "between looks (%)", "late (%)", "by the model", "by waits",
           "iterations", "filled (%)", "losses", "ends", "misses", "version")


def lowest(ranks: list[dict], key: str) -> float | None:
    return min((rank[key] for rank in ranks if rank[key] is not None), default=None)


def idle_is_off(rank: dict) -> bool:
    return abs(rank["idle"] - rank["true"]) > max(MOST_RELATIVE * rank["true"], MOST_ABSOLUTE)


def missed_shares(ranks: list[dict]) -> list[str]:
    idle = [rank for rank in ranks if max(rank["idle"], rank["true"]) >= LEAST_IDLE]
    shares = {name: lowest(idle, key) for name, key in SHARES.items()}
    found = [key for key, share in shares.items() if share is not None and share < LEAST_AGREEMENT]
    return found + (["idle"] if any(idle_is_off(rank) for rank in ranks) else [])


def by_waits(ranks: list[dict]) -> list[dict]:
    """The ranks, held against who waits for communication; cells that were measured earlier do not tell."""
    return [{**rank, **rank["by_waits"]} for rank in ranks if "by_waits" in rank]


def uncertain_by_cause(rank: dict) -> dict[str, float]:
    """Shares of the window; cells that were measured earlier tell only the cause of the longest such time."""
    shares: dict[str, float] = {}
    for why, share in rank.get("uncertain_by_cause", {rank["uncertain_reason"]: rank["uncertain"]}).items():
        cause = why.split(":")[0]
        shares[cause] = shares.get(cause, 0) + share
    return shares


def misses(cell: dict) -> list[str]:
    """The bounds that a cell does not keep, in the words of the table's columns.

    Where an excuse of uncertain time is named, it is enough that what was not reported is uncertain; other causes are a
    miss and excuse nothing. Where who waits for what tells it, that stands in place of what is resident.
    """
    ranks = cell["ranks"]
    found = missed_shares(ranks)
    if found and len(by_waits(ranks)) == len(ranks) and not missed_shares(by_waits(ranks)):
        found = ["by waits"]
    excuses, other = set(), False
    for rank in ranks:
        shares = uncertain_by_cause(rank)
        if rank["uncertain"] > MOST_UNCERTAIN:
            excuses |= {cause for cause in EXCUSES if shares.get(cause, 0) > 0}
        other = other or sum(share for cause, share in shares.items() if cause not in EXCUSES) > MOST_UNCERTAIN
    if excuses and not other and all(rank["accounted"] is None or rank["accounted"] >= LEAST_AGREEMENT for rank in ranks):
        found = [key for key in found if "precision" in key] + sorted(excuses)
    if other:
        found.append("uncertain")
    if any(not 0 <= cell["iterations_real"] - rank["iterations"] <= MOST_UNSEEN for rank in ranks):
        found.append("iterations")
    if cell["losses_identical"] is False:
        found.append("losses")
    if any(rank["late"] > MOST_LATE for rank in ranks):
        found.append("late")
    return found


def why_unfilled(cell: dict) -> str:
    """Of a cell in which filling went on: the reason of most bubbles for which there was a forecast, as the trace calls
    it; cells that were measured earlier do not tell."""
    counts: dict[str, int] = {}
    for rank in cell["ranks"]:
        for reason, count in rank.get("unfilled", {}).items():
            counts[reason] = counts.get(reason, 0) + count
    counts.pop("no_forecast", None)
    most = max(counts, key=counts.get, default="")
    return "filling was on and no bubble was filled" + (f" (mostly `{most}`)" if counts.get(most) else "")


def conversion(cell: dict) -> float:
    """Over all ranks."""
    idle = sum(rank["idle"] * rank["window"] for rank in cell["ranks"])
    done = sum((rank["conversion"] or 0) * rank["idle"] * rank["window"] for rank in cell["ranks"])
    return done / idle if idle else 0


def why_stopped(cell: dict) -> str:
    """Why filling stopped, of the first rank where it did, without the advice behind the colon; "": it went on."""
    reasons = [rank["filling_stopped"] for rank in cell["ranks"] if rank["filling_stopped"]]
    return reasons[0].split(":")[0] if reasons else ""


def filled(cell: dict) -> str:
    """The conversion, and whether filling stopped; "" where there was nothing to fill with."""
    if cell["mode"] != "fill" or not cell["ranks"]:
        return ""
    share = conversion(cell)
    return (f"{100 * share:.1f}" if share else "nothing") + (", stopped" if why_stopped(cell) else "")


def percents(ranks: list[dict], key: str) -> str:
    return " ".join(f"{100 * rank[key]:.1f}" for rank in ranks)


def iterations(cell: dict) -> str:
    found = sorted({rank["iterations"] for rank in cell["ranks"]})
    return f"{'-'.join(str(count) for count in found[:1] + found[1:][-1:])} of {cell['iterations_real']}"


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def most(ranks: list[dict], key: str) -> str:
    return f"{100 * max(rank[key] for rank in ranks):.1f}"


def line(cell: dict) -> str:
    ranks = cell["ranks"]
    numbers = [""] * 14
    if ranks:
        by_model = [share(lowest(ranks, key)) for key in ("coverage_by_model", "precision_by_model")]
        waiting = [share(lowest(by_waits(ranks), key)) for key in ("coverage", "precision")]
        numbers = [percents(ranks, "idle"), percents(ranks, "true"),
                   *(share(lowest(ranks, key)) for key in SHARES.values()),
                   most(ranks, "uncertain"), share(lowest(ranks, "accounted")), most(ranks, "between_looks"),
                   most(ranks, "late"), " ".join(by_model), " ".join(waiting).strip(), iterations(cell), filled(cell)]
    same = {True: "identical", False: "different", None: ""}[cell["losses_identical"]]
    end = cell["state"] if cell["state"] != "ok" or cell["rc"] != 0 else "0"
    unknown = [rank["idle_unknown"] for rank in ranks if rank["idle_unknown"]]
    texts = [cell["row"], str(cell["queues"]), cell["mode"], f"{cell['time_scale']:g}", *numbers, same, end,
             ", ".join(unknown[:1] + misses(cell)), cell["version"]]
    return f"| {' | '.join(texts)} |"


def versions(cells: list[dict]) -> str:
    """Cells are measured in the course of time."""
    counts: dict[str, int] = {}
    for cell in cells:
        counts[cell["version"]] = counts.get(cell["version"], 0) + 1
    text = ", ".join(f"{version} ({plural(count, 'cell')})" for version, count in counts.items())
    return textwrap.fill(f"{plural(len(counts), 'version')}: {text}.", WIDTH, break_on_hyphens=False)


def nothing_filled(cells: list[dict]) -> str:
    """The cells with a fill job that filled nothing, by the reason; "" where there is none."""
    tried = [cell for cell in cells if cell["mode"] == "fill" and cell["ranks"]]
    places: dict[str, list[str]] = {}
    for cell in tried:
        if not conversion(cell):
            reason = re.sub(r"\d+ streams", "n streams", why_stopped(cell)) or why_unfilled(cell)
            places.setdefault(f"{reason}, {plural(cell['queues'], 'queue')}", []).append(cell["row"])
    if not places:
        return ""
    count = sum(len(rows) for rows in places.values())
    return "\n".join([f"Nothing filled, {count} of {plural(len(tried), 'cell')} with fill:", "",
                      *(textwrap.fill(f"- {reason}: {', '.join(rows)}.", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
                        for reason, rows in places.items()), ""])


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def as_markdown(cells: list[dict]) -> str:
    head = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    return "\n".join([*head, *(line(cell) for cell in cells), "", *filter(None, [nothing_filled(cells)]), versions(cells)]) + "\n"


def write(cells: list[dict], page: pathlib.Path) -> None:
    """The whole file, or in a page with the two comments what stands between them."""
    text = as_markdown(cells)
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    if BEGIN in old and END in old:
        before, rest = old.split(BEGIN, 1)
        text = f"{before}{BEGIN}\n{text}{END}{rest.split(END, 1)[1]}"
    page.write_text(text, encoding="utf-8")
