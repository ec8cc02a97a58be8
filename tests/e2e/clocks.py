"""The alignment of moved traces against the truth, for clocks.sh: clocks.py TRACES WORK BEGIN AHEAD PPM WALL WEFT"""
import csv
import json
import pathlib
import sys

import weft

traces, work, begin, ahead, ppm, wall, command = sys.argv[1:]
work, begin, ahead, rate, wall = pathlib.Path(work), int(begin), int(ahead), float(ppm) * 1e-6, int(wall)
MOST_WITHIN = 20_000_000  # a busy machine looks late; as a rule it is a hundredth of that


def check(times, shifts, withins, name):
    """Shifts at known times of the other host's clock, with straight lines between; at some hundred times."""
    assert len(times) >= 2 and list(times) == sorted(times), (name, times)
    for left, right in zip(range(len(times)), range(1, len(times))):
        for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
            time = times[left] + round((times[right] - times[left]) * share)
            original = begin + round((time - begin - ahead) / (1 + rate))
            shift = shifts[left] + (shifts[right] - shifts[left]) * share
            within = withins[left] + (withins[right] - withins[left]) * share
            assert abs(time + shift - original) <= within + 5, (name, time, time + shift - original, within)


summary = json.loads((work / "summary.json").read_text())
clocks = summary["clocks"]
assert [clock["placed_by"] for clock in clocks] == ["reference", "messages"], clocks
assert [rank["clock"] for rank in summary["ranks"]] == [0, 0, 1, 1], summary["ranks"]
other = clocks[1]
assert other["within"] <= other["most_within"] <= MOST_WITHIN, other
assert abs(other["ahead"] - wall) <= other["most_within"] + 100_000, other
assert other["drift_low"] - other["drift_within"] <= rate <= other["drift_high"] + other["drift_within"], other
assert other["messages"] >= 100, other
check(*zip(*other["shifts"]), "summary --json")

with open(work / "csv/clock_shift.csv", newline="", encoding="utf-8") as file:
    rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
for rank in (2, 3):
    own = [row for row in rows if row["trace_rank"] == rank]
    check(*([row[key] for row in own] for key in ("time", "shift", "within")), f"clock_shift.csv, rank {rank}")
for row in rows:
    if row["trace_rank"] < 2:
        assert row["shift"] == row["within"] == 0, row
with open(work / "csv/header.csv", newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        assert (row["clock_shift"] == "0") == (int(row["trace_rank"]) < 2), row
        assert int(row["clock_within"]) <= 2 * MOST_WITHIN, row

# All times, with what they were before they were moved.
original = weft.load(traces, frames="dicts")
aligned = weft.load(work / "moved", frames="dicts", align=command)
compared = worst = 0
for kind, key in (("bubble", "opened"), ("group", "ended"), ("iteration", "started")):
    pairs = list(zip(original[kind], aligned[kind]))
    assert len(original[kind]) == len(aligned[kind]) > 0, kind
    for before, after in pairs:
        if before[key] is None:
            continue
        error = abs(after[key] - before[key])
        assert error <= (0 if before["rank"] < 2 else other["most_within"] + 100_000), (kind, before, after)
        worst, compared = max(worst, error), compared + 1
print(f"{compared} times, the worst {worst / 1e3:.1f} us off; within {other['within'] / 1e3:.1f} us, at most "
      f"{other['most_within'] / 1e3:.1f} us, {other['messages']} messages, drift {other['drift'] * 1e6:.2f} ppm")
