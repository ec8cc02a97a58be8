#!/usr/bin/env python3
"""The tables of weft export against the lines of the traces: csv_test.py WEFT
Each record is a row of its table, each key a column, each value a cell; nothing is lost and nothing comes twice."""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

GROUP = ('{"type": "group", "time": 900, "device": 0, "id": 1, "communicator": 1, "iteration": 1, "begun": null, '
         '"begun_within": 0, "ended": 800, "ended_within": 5, "operations": [{"kind": "send", "peer": 1, "bytes": 8, '
         '"sequence": 3}, {"kind": "all_reduce", "peer": -1, "bytes": 9, "sequence": 1}], "left_out": 2}')
ANOMALY = '{"type": "anomaly", "time": 901, "device": 0, "text": "a \\"word\\", a comma\\nand a line", "stops_filling": true}'


def flat(value, prefix=""):
    """{"forecast.low": 1, ...}; a list stays one."""
    found = {}
    for key, item in value.items():
        if isinstance(item, dict):
            found.update(flat(item, f"{prefix}{key}."))
        else:
            found[prefix + key] = item
    return found


def cell(value):
    if value is None:
        return ""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def same(text, value):
    if isinstance(value, list):
        return json.loads(text) == value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return text != "" and float(text) == float(value)
    return text == cell(value)


def check(table, rows, lines):
    assert len(rows) == len(lines), f"{table}: {len(rows)} rows of {len(lines)} lines"
    for row, line in zip(rows, lines):
        for key, value in flat(line).items():
            if key in ("type", "format", "clock") or (value is None and key not in row):
                continue
            assert key in row, f"{table} has no column {key}"
            assert same(row[key], value), f"{table}: {key} is {row[key]!r}, and {value!r} in {line}"


def main():
    weft = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        traces = pathlib.Path(folder) / "traces"
        subprocess.run([weft, "simulate", "--stages", "4", "--iterations", "16", "--output", traces], check=True,
                       stdout=subprocess.DEVNULL)
        first = min(traces.glob("rank0.*"))
        lines = first.read_text().splitlines()
        first.write_text("\n".join([*lines[:-1], GROUP, ANOMALY, lines[-1]]) + "\n")
        tables = pathlib.Path(folder) / "tables"
        subprocess.run([weft, "export", traces, "--csv", tables], check=True, stderr=subprocess.DEVNULL)
        expected = {}
        for trace in sorted(traces.glob("rank*")):
            for line in map(json.loads, trace.read_text().splitlines()):
                expected.setdefault(line["type"], []).append(line)
        assert {"header", "summary", "bubble", "slice", "iteration", "group", "anomaly"} <= set(expected)
        names = {path.stem for path in tables.glob("*.csv")}
        assert set(expected) <= names, f"there are {names}"
        for name in names:
            with open(tables / f"{name}.csv", newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                third = "time" if name == "clock_shift" else "segment"
                assert reader.fieldnames[:3] == ["trace_rank", "trace_process", third]
                rows = list(reader)
            whole = all(None not in row and None not in row.values() for row in rows)
            assert whole, f"{name}: cells and columns differ"
            if name == "clock_shift":  # all ranks are of one clock
                assert [(row["trace_rank"], row["shift"], row["within"]) for row in rows] == [
                    (str(rank), "0", "0") for rank in range(4)], rows
                continue
            check(name, rows, expected.get(name, []))


main()
