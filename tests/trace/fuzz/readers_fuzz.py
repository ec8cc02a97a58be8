#!/usr/bin/env python3
"""All readers of traces on damaged ones: readers_fuzz.py WEFT [--lines N] [--seed N] [--keep FOLDER]

Folders with the traces of some ranks are made from whole ones, their lines are damaged, and every verb that reads
traces, and weft.load, has to end with an exit code of its own, in time, within a fixed memory, with messages of one
printable line each, and with output that can be parsed. A folder that breaks that is kept, and its seed is said.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import mutations

ROOT = pathlib.Path(__file__).resolve().parents[3]
MOST_BYTES = 400 * 10**6  # of memory for a verb; sanitizers need more: --most-bytes
MOST_SECONDS = 120
UNPRINTABLE = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


class Broken(Exception):
    pass


def run(command, most_bytes, scratch):
    """Its stdout; None: it said why there is none."""
    name = " ".join(word for word in command[1:] if "/" not in word)
    with open(scratch / "stdout", "wb") as out, open(scratch / "stderr", "wb") as err:
        process = subprocess.Popen(["timeout", "-k", "5", str(MOST_SECONDS), *command], stdout=out, stderr=err,
                                   stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = code = os.waitstatus_to_exitcode(status)
    said, told = (scratch / "stdout").read_bytes(), (scratch / "stderr").read_bytes()
    if code not in (0, 1):
        raise Broken(f"{name}: exit code {code}: {told[-2000:].decode(errors='replace')}")
    if usage.ru_maxrss * 1024 > most_bytes:
        raise Broken(f"{name}: {usage.ru_maxrss / 1000:.0f} MB")
    if code == 1 and not told.startswith(b"weft"):
        raise Broken(f"{name}: no message: {told[:500]}")
    for text in (said, told):
        found = UNPRINTABLE.search(text)
        if found:
            raise Broken(f"{name}: unprintable: {text[max(0, found.start() - 100):found.end() + 20]}")
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise Broken(f"{name}: no UTF-8: {text[max(0, error.start - 100):error.end + 20]}") from None
    return said if code == 0 else None


def refuse_constant(text):
    raise ValueError(f"{text} is no JSON")


def parse(text, name):
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        raise Broken(f"{name}: no JSON: {error}") from None


def check_report(path):
    page = path.read_text(encoding="utf-8")
    blocks = re.findall(r"<script[^>]*>(.*?)</script>", page, re.S)
    data = [block for block in blocks if block.lstrip().startswith("{")]
    if len(blocks) != 2 or len(data) != 1 or len(page) > 5 * 10**6:
        raise Broken(f"report: {len(blocks)} scripts, {len(page)} letters")
    parse(data[0], "report")


def check_python(folder):
    sys.path.insert(0, str(ROOT / "python"))
    import weft  # noqa: PLC0415  only here, as what is fuzzed

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", weft.TraceWarning)
            run_there = weft.load(folder)
            for rank in run_there.ranks:
                str(rank)
            len(list(run_there.bubbles))
    except weft.TraceError as error:
        if "\n" in str(error):
            raise Broken(f"weft.load: {error!r}") from None


def check_folder(weft, folder, whole, most_bytes, scratch):
    out = scratch / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    folder, whole = str(folder), str(whole)
    run([weft, "summary", folder], most_bytes, scratch)
    for command in (["summary", "--json", folder], ["diff", "--json", folder, whole]):
        said = run([weft, *command], most_bytes, scratch)
        if said is not None:
            parse(said, command[0])
    run([weft, "estimate", folder, "--fill", "100x50us"], most_bytes, scratch)
    run([weft, "export", folder, "--perfetto", str(out / "trace"), "--csv", str(out / "csv"), "--kineto",
         str(out / "kineto")], most_bytes, scratch)
    for path in (out / "kineto").glob("*.json"):
        parse(path.read_text(encoding="utf-8"), path.name)
    metrics = out / "metrics"
    metrics.mkdir()
    run([weft, "export", folder, "--prometheus", str(metrics), "--once", "--all-hosts"], most_bytes, scratch)
    if run([weft, "report", folder, "-o", str(out / "report.html")], most_bytes, scratch) is not None:
        check_report(out / "report.html")
    check_python(folder)


def whole_runs(weft, scratch):
    """[[lines of a trace, ...] of a run, ...]"""
    runs = [ROOT / "tests/trace/run"]
    for name, flags in {"filled": ["--fill", "200x100us"], "observed": ["--observe"],
                        "interleaved": ["--observe", "--schedule", "interleaved"]}.items():
        folder = scratch / name
        subprocess.run([weft, "simulate", "--stages", "3", "--microbatches", "3", "--iterations", "12", *flags, "--output",
                        str(folder)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs.append(folder)
    return runs, [[path.read_bytes().splitlines() for path in sorted(run.glob("*.jsonl"))] for run in runs]


def damage(traces, rng, folder):
    """Writes the damaged traces; the number of their lines."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    share = rng.choice([0.001, 0.01, 0.1, 0.5, 1])
    count = 0
    for place, lines in enumerate(traces):
        if rng.random() < 0.05:
            lines = mutations.other_version(lines, rng)
        if rng.random() < 0.05:
            lines = lines + rng.choice(traces)
        (folder / f"rank{place}.{100 + place}.jsonl").write_bytes(mutations.damaged_file(lines, rng, share))
        count += len(lines)
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weft")
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-bytes", type=int, default=MOST_BYTES)
    parser.add_argument("--keep", type=pathlib.Path, help="for folders that break something")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        folders, runs = whole_runs(wanted.weft, scratch)
        count, seed, broken = 0, wanted.seed, 0
        while count < wanted.lines:
            rng = random.Random(seed)
            place = rng.randrange(len(runs))
            count += damage(runs[place], rng, scratch / "damaged")
            try:
                check_folder(wanted.weft, scratch / "damaged", folders[place], wanted.most_bytes, scratch)
            except Exception as error:  # also of weft.load: nothing but its own errors may come
                broken += 1
                print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
                if wanted.keep:
                    shutil.copytree(scratch / "damaged", wanted.keep / str(seed), dirs_exist_ok=True)
            seed += 1
    print(f"{count} lines in {seed - wanted.seed} folders; {broken} broke something")
    return 1 if broken or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
