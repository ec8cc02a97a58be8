#!/usr/bin/env python3
"""Writes the traces of a run anew, as if some of its ranks had run on another host, whose clock differs:
other_host.py DOCS/TRACE.MD FROM TO RANKS HOST AHEAD PPM WALL

RANKS is a list like 2,3. The clock of HOST is AHEAD nanoseconds ahead when the first of these ranks starts, and gains
PPM microseconds in a second; its wall clock is wrong by WALL nanoseconds. On stdout stands the moment from which it
gains, on the clock that the ranks had."""
import json
import pathlib
import re
import sys


def time_keys(page):
    """By kind of line, the keys that docs/trace.md calls a time."""
    keys, of_kind = {}, None
    for line in pathlib.Path(page).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            title = re.fullmatch(r"## `([a-z_]+)`", line)
            of_kind = keys.setdefault(title[1], {"time"}) if title else None
        elif line.startswith("| `") and of_kind is not None:
            names, types = (cell.strip() for cell in line.split("|")[1:3])
            if types in ("time", "time or null"):
                of_kind.update(re.findall(r"`([a-z_]+)`", names))
    return keys


def main():
    page, source, target, ranks, host, ahead, ppm, wall = sys.argv[1:]
    keys, ranks, ahead, ppm, wall = time_keys(page), set(map(int, ranks.split(","))), int(ahead), float(ppm), int(wall)
    assert {"begun", "ended"} <= keys["group"] and "started" in keys["header"], keys
    paths = sorted(pathlib.Path(source).glob("rank*.jsonl"))
    traces = {path: list(map(json.loads, path.read_text(encoding="utf-8").splitlines())) for path in paths}
    own = {path: lines for path, lines in traces.items() if lines[0]["rank"] in ranks}
    begin = min(lines[0]["started"] for lines in own.values())
    for lines in own.values():
        for line in lines:
            for key in keys[line["type"]] & set(line):
                if line[key] is not None:
                    line[key] += ahead + round((line[key] - begin) * ppm * 1e-6)
            if line["type"] == "header":
                line.update(host=host, boot=f"00000000-0000-0000-0000-{host:0>12}")
            if "wall_clock" in line:
                line["wall_clock"] += wall
    pathlib.Path(target).mkdir()
    for path, lines in traces.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (pathlib.Path(target) / path.name).write_text(text, encoding="utf-8")
    print(begin)


main()
